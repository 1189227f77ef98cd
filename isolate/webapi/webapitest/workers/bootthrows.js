// The module throws while it is evaluated.
await 0;
throw new RangeError("not today");
