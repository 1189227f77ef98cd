// No export at all.
globalThis.x = 1;
