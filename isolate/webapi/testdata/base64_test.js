// HTML Standard: atob and btoa.

const invalid = (fn) => {
  const error = assertThrows(fn, DOMException);
  assertEquals(error.name, "InvalidCharacterError");
  assertEquals(error.code, 5);
};

test("btoa", () => {
  for (const [text, want] of [
    ["", ""],
    ["a", "YQ=="],
    ["ab", "YWI="],
    ["abc", "YWJj"],
    ["\u0000", "AA=="],
    ["\u00ff\u00fe\u0080", "//6A"],
    ["\u00ff".repeat(6), "////////"],
    [undefined, "dW5kZWZpbmVk"],
    [null, "bnVsbA=="],
    [12, "MTI="],
    [{ toString: () => "x" }, "eA=="],
  ]) assertEquals(btoa(text), want, JSON.stringify(text));
});

test("btoa refuses characters above U+00FF", () => {
  invalid(() => btoa("\u0100"));
  invalid(() => btoa("abc\ud83d\ude00"));
  assertThrows(() => btoa(), TypeError, "1 argument required");
  assertThrows(() => btoa(Symbol("x")), TypeError);
});

test("atob", () => {
  for (const [text, want] of [
    ["", ""],
    ["YQ==", "a"],
    ["YQ", "a"],
    ["YR==", "a"],
    ["YWI=", "ab"],
    ["YWI", "ab"],
    ["YWJj", "abc"],
    [" Y W\tJ\nj\f\r ", "abc"],
    ["Y Q = =", "a"],
    ["//6A", "\u00ff\u00fe\u0080"],
    ["abcd", "i\u00b7\u001d"],
    [null, "\u009e\u00e9e"],
    [12, "\u00d7"],
    [NaN, "5\u00a3"],
  ]) assertEquals(atob(text), want, JSON.stringify(text));
});

test("atob refuses what is not base64", () => {
  for (const text of ["A", "ABCDE", "=", "==", "===", "A=", "A==", "A===", "AB=", "ABC==", "ABCD=", "ABCD==", "AB=C", "ab-_", "ab\u00a0c", "ab\u000bcd", "\u0100bcd", "AA==A", undefined, "a\u0000bc"]) {
    invalid(() => atob(text));
  }
  assertThrows(() => atob(), TypeError, "1 argument required");
});

test("every byte survives", () => {
  let all = "";
  for (let i = 0; i < 256; i++) all += String.fromCharCode(i);
  for (let i = 0; i < 3; i++) assertEquals(atob(btoa(all.slice(i))), all.slice(i));
  const long = all.repeat(1000);
  assertEquals(atob(btoa(long)), long);
});
