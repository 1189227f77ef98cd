for (;;) await 0;
