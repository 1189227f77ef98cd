const encode = (s) => new TextEncoder().encode(s);
const parse = (text, type = "multipart/form-data; boundary=B") => new Response(text, { headers: { "content-type": type } }).formData();
const serialize = async (formData) => {
  const response = new Response(formData);
  const boundary = response.headers.get("content-type").split("boundary=")[1];
  return (await response.text()).replaceAll(boundary, "B");
};

test("FormData: append, get, getAll, has, delete, set", () => {
  const f = new FormData();
  f.append("a", "1");
  f.append("b", 2);
  f.append("a", null);
  assertEquals([f.get("a"), f.getAll("a"), f.get("c"), f.getAll("c")], ["1", ["1", "null"], null, []]);
  assert(f.has("b") && !f.has("c"));
  f.set("a", "x");
  assertEquals([...f], [["a", "x"], ["b", "2"]]);
  f.set("z", "y");
  f.delete("a");
  f.delete("nothing");
  assertEquals([...f.keys()], ["b", "z"]);
  f.append("\ud800", "\udc00");
  assertEquals(f.get("\ufffd"), "\ufffd");
});

test("FormData: blobs become files", async () => {
  const f = new FormData();
  f.append("blob", new Blob(["x"], { type: "a/b" }));
  f.append("named", new Blob(["y"]), "n.txt");
  const file = new File(["z"], "z.txt", { lastModified: 5 });
  f.append("file", file);
  f.append("renamed", file, "other");
  assert(f.get("blob") instanceof File);
  assertEquals([f.get("blob").name, f.get("blob").type, await f.get("blob").text()], ["blob", "a/b", "x"]);
  assertEquals(f.get("named").name, "n.txt");
  assert(f.get("file") === file);
  assertEquals([f.get("renamed").name, await f.get("renamed").text()], ["other", "z"]);
  assertEquals(f.get("renamed").lastModified, 5);
});

test("FormData: refuse wrong arguments", () => {
  const f = new FormData();
  assertThrows(() => f.append("a"), TypeError, "2 arguments required");
  assertThrows(() => f.append("a", "b", "c"), TypeError, "Blob");
  assertThrows(() => f.set("a", {}, "c"), TypeError, "Blob");
  assertThrows(() => f.get(), TypeError);
  assertThrows(() => new FormData({}), TypeError, "HTMLFormElement");
  assertThrows(() => new FormData(null), TypeError);
  for (const name of ["append", "delete", "get", "getAll", "has", "set", "entries"]) {
    assertThrows(() => FormData.prototype[name].call({}, "a", "b"), TypeError);
  }
  assertEquals([FormData.length, FormData.prototype.append.length, FormData.prototype.set.length], [0, 2, 2]);
});

test("FormData: iteration is live", () => {
  const f = new FormData();
  f.append("a", "1");
  const seen = [];
  for (const [name, value] of f) {
    seen.push(name + value);
    if (seen.length < 3) f.append("b", String(seen.length));
  }
  assertEquals(seen, ["a1", "b1", "b2"]);
});

test("FormData: serialization escapes names and normalizes newlines", async () => {
  const f = new FormData();
  f.append('q"\r\n%22', "a\rb\nc\r\nd");
  f.append("f\n", new File(["\n\r"], 'n"\r\n.txt', { type: "text/x" }));
  f.append("\u00e9", new Blob([new Uint8Array([0, 255])]));
  assertEquals(
    (await serialize(f)).replace(/\ufffd/g, "?"),
    '--B\r\nContent-Disposition: form-data; name="q%22%0D%0A%22"\r\n\r\na\r\nb\r\nc\r\nd\r\n' +
      '--B\r\nContent-Disposition: form-data; name="f%0D%0A"; filename="n%22%0D%0A.txt"\r\nContent-Type: text/x\r\n\r\n\n\r\r\n' +
      '--B\r\nContent-Disposition: form-data; name="\u00e9"; filename="blob"\r\nContent-Type: application/octet-stream\r\n\r\n\0?\r\n' +
      "--B--\r\n",
  );
  assertEquals(await serialize(new FormData()), "--B--\r\n");
});

test("FormData: multipart round trip with binary content", async () => {
  const data = new Uint8Array(70000).map((_, i) => (i % 7 === 0 ? 13 : i % 7 === 1 ? 10 : i));
  const f = new FormData();
  f.append('a "b"\r\n', "v\r\n--");
  f.append("bin", new File([data], "\u00e9 x.bin", { type: "application/x" }));
  f.append("empty", new File([], ""));
  f.append("", "");
  const g = await new Response(f).formData();
  assertEquals([...g.keys()], ['a "b"\r\n', "bin", "empty", ""]);
  assertEquals(g.get('a "b"\r\n'), "v\r\n--");
  const bin = g.get("bin");
  assertEquals([bin.name, bin.type, await bin.bytes()], ["\u00e9 x.bin", "application/x", data]);
  assertEquals([g.get("empty").name, g.get("empty").size, g.get("")], ["", 0, ""]);
});

test("FormData: parse what other clients send", async () => {
  const crlf = (s) => s.replaceAll("\n", "\r\n");
  const f = await parse(crlf(
    '\n--B\nContent-Type: text/plain; charset=x \ncontent-DISPOSITION:form-data; filename="f.txt"; name=plain\nX-Other: 1\n\nabc\n' +
      '--B\nContent-Disposition: form-data; name="%22%0D%0A%0a"; filename*=UTF-8\'\'x\n\n\ufeffv\n' +
      '--B\nContent-Disposition: form-data; name="nofile"; filename=""\n\nd\n--B--',
  ));
  const file = f.get("plain");
  assertEquals([file.name, file.type, await file.text()], ["f.txt", "text/plain; charset=x", "abc"]);
  assertEquals(f.get('"\r\n%0a'), "\ufeffv");
  assertEquals([f.get("nofile").name, f.get("nofile").type], ["", "text/plain"]);
  assertEquals([...(await parse("--B--"))], []);
  assertEquals([...(await parse('--a b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--a b--\r\n', 'multipart/form-data; Boundary="a b"'))], [["x", "1"]]);
});

test("FormData: refuse malformed multipart", async () => {
  const part = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n';
  for (const [text, why] of [
    ["", "boundary is missing"],
    ["x", "boundary is missing"],
    ["--C--", "boundary is missing"],
    [part + "v", "no end"],
    [part + "v\r\n--B", "CRLF"],
    [part + "v\r\n--B--x", "follows"],
    ["--B\nContent-Disposition: form-data; name=a\n\nv\n--B--", "CRLF"],
    ["--B\r\n\r\nv\r\n--B--", "no name"],
    ["--B\r\nContent-Disposition: attachment; name=a\r\n\r\nv\r\n--B--", "not form-data"],
    ["--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\nv\r\n--B--", "no end"],
    ["--B\r\nbad header\r\n\r\nv\r\n--B--", "bad header"],
  ]) await assertRejects(parse(text), TypeError, why);
  await assertRejects(parse("", "multipart/form-data"), TypeError, "boundary");
  await assertRejects(parse("a=b", "text/plain"), TypeError);
  await assertRejects(new Response("a=b", { headers: [] }).formData(), TypeError);
});

test("FormData: urlencoded both ways", async () => {
  const f = await parse("a=1&b=%C3%A9+x&a=2&&c", "application/x-www-form-urlencoded;charset=UTF-8");
  assertEquals([...f], [["a", "1"], ["b", "\u00e9 x"], ["a", "2"], ["c", ""]]);
  const response = new Response(new URLSearchParams([["a", "1 2"], ["\u00e9", "&"]]));
  assertEquals(response.headers.get("content-type"), "application/x-www-form-urlencoded;charset=UTF-8");
  assertEquals(await response.text(), "a=1+2&%C3%A9=%26");
});
