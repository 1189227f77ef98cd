throw new Error("at start-up");
