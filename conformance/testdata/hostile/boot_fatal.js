new Array(1 << 27).fill(1.5);
