// URL Standard: parsing, serializing and the URL class.

/** [input, base, href] or [input, base] for a failure. */
const parsing = [
  // Schemes and authorities.
  ["http://example.com", , "http://example.com/"],
  ["HTTPS://EXAMPLE.com/Path", , "https://example.com/Path"],
  ["http:example.com", , "http://example.com/"],
  ["http:/example.com", , "http://example.com/"],
  ["http:\\\\example.com\\a\\b", , "http://example.com/a/b"],
  ["http:////example.com///a", , "http://example.com///a"],
  ["http://user:pass@example.com:8080/", , "http://user:pass@example.com:8080/"],
  ["http://@example.com", , "http://example.com/"],
  ["http://:@example.com", , "http://example.com/"],
  ["http://:secret@example.com", , "http://:secret@example.com/"],
  ["http://a:@example.com", , "http://a@example.com/"],
  ["http://a@b@c/", , "http://a%40b@c/"],
  ["http://a:b@c:d@host/", , "http://a:b%40c%3Ad@host/"],
  ["http://us[er]|^:p/x@host/", , undefined],
  ["http://us[er|^`{}@host/", , "http://us%5Ber%7C%5E%60%7B%7D@host/"],
  ["http://user@/path", , undefined],
  ["http://", , undefined],
  ["http://?q", , undefined],
  ["https://:80/", , undefined],
  ["//host/p", , undefined],
  ["", , undefined],
  ["1http://x", , undefined],
  ["a+b-c.1:x", , "a+b-c.1:x"],
  // White space and controls.
  ["  \u0000http://example.com/ \u001f ", , "http://example.com/"],
  ["ht\ntp\t://exa\rmple.com/a\tb?c\nd#e\rf", , "http://example.com/ab?cd#ef"],
  ["http://exa mple.com/", , undefined],
  // Ports.
  ["http://h:80/", , "http://h/"],
  ["https://h:443/", , "https://h/"],
  ["https://h:80/", , "https://h:80/"],
  ["ws://h:80/", , "ws://h/"],
  ["wss://h:443/", , "wss://h/"],
  ["ftp://h:21/", , "ftp://h/"],
  ["http://h:/", , "http://h/"],
  ["http://h:00000000000000000000080/", , "http://h/"],
  ["http://h:0/", , "http://h:0/"],
  ["http://h:65535/", , "http://h:65535/"],
  ["http://h:65536/", , undefined],
  ["http://h:8a/", , undefined],
  ["http://h:-1/", , undefined],
  ["http://h:80:90/", , undefined],
  ["foo://h:80/", , "foo://h:80/"],
  // Domains.
  ["http://EX%41MPLE.com/", , "http://example.com/"],
  ["http://a%2eb/", , "http://a.b/"],
  ["http://a%20b/", , undefined],
  ["http://a%00b/", , undefined],
  ["http://a%b/", , undefined],
  ["http://a<b/", , undefined],
  ["http://a^b/", , undefined],
  ["http://a|b/", , undefined],
  ["http://a\u007fb/", , undefined],
  ["http://a_b!$&'()*+,;=~-/", , "http://a_b!$&'()*+,;=~-/"],
  ["http://-a-.--b/", , "http://-a-.--b/"],
  ["http://a..b/", , "http://a..b/"],
  ["http://example.com./", , "http://example.com./"],
  ["http://%ff/", , undefined],
  // Internationalized domains.
  ["http://m\u00fcnchen.de/", , "http://xn--mnchen-3ya.de/"],
  ["http://M%C3%9CNCHEN.de/", , "http://xn--mnchen-3ya.de/"],
  ["http://stra\u00dfe.de/", , "http://xn--strae-oqa.de/"],
  ["http://\u65e5\u672c\u8a9e.jp/", , "http://xn--wgv71a119e.jp/"],
  ["http://\uff25xample\u3002com/", , "http://example.com/"],
  ["http://xn--mnchen-3ya.de/", , "http://xn--mnchen-3ya.de/"],
  ["http://XN--MNCHEN-3YA.de/", , "http://xn--mnchen-3ya.de/"],
  ["http://xn--a/", , undefined],
  ["http://xn--/", , undefined],
  ["http://\u00ad/", , undefined],
  ["http://a\u00adb/", , "http://ab/"],
  ["http://\uff05\uff14\uff11/", , undefined],
  ["http://\ufffd/", , undefined],
  ["http://a\u200db/", , undefined],
  ["http://\ud83d\ude00.com/", , "http://xn--e28h.com/"],
  // IPv4.
  ["http://1.2.3.4/", , "http://1.2.3.4/"],
  ["http://1.2.3.4./", , "http://1.2.3.4/"],
  ["http://1.2.3.4../", , "http://1.2.3.4../"],
  ["http://127.1/", , "http://127.0.0.1/"],
  ["http://2130706433/", , "http://127.0.0.1/"],
  ["http://0x7F.0x1/", , "http://127.0.0.1/"],
  ["http://0x7f000001/", , "http://127.0.0.1/"],
  ["http://0300.0250.0.1/", , "http://192.168.0.1/"],
  ["http://0x/", , "http://0.0.0.0/"],
  ["http://0x.0x.0/", , "http://0.0.0.0/"],
  ["http://4294967295/", , "http://255.255.255.255/"],
  ["http://4294967296/", , undefined],
  ["http://99999999999999999999999999/", , undefined],
  ["http://0xffffffffffffffffffffff/", , undefined],
  ["http://256.0.0.1/", , undefined],
  ["http://1.2.3.256/", , undefined],
  ["http://1.2.65535/", , "http://1.2.255.255/"],
  ["http://1.2.65536/", , undefined],
  ["http://1.2.3.4.5/", , undefined],
  ["http://1..2/", , undefined],
  ["http://09/", , undefined],
  ["http://a.09/", , undefined],
  ["http://a.0x/", , undefined],
  ["http://a.0xg/", , "http://a.0xg/"],
  ["http://1.2.3.4a/", , "http://1.2.3.4a/"],
  ["http://\uff11.2.3.4/", , "http://1.2.3.4/"],
  ["http://%31.2.3.4/", , "http://1.2.3.4/"],
  ["foo://1.2.3/", , "foo://1.2.3/"],
  // IPv6.
  ["http://[::1]/", , "http://[::1]/"],
  ["http://[0:0:0:0:0:0:0:0]/", , "http://[::]/"],
  ["http://[1:0:0:2:0:0:0:3]/", , "http://[1:0:0:2::3]/"],
  ["http://[1:0:0:2:3:0:0:4]/", , "http://[1::2:3:0:0:4]/"],
  ["http://[1:0:2:3:4:5:6:7]/", , "http://[1:0:2:3:4:5:6:7]/"],
  ["http://[::2:3:4:5:6:7:8]/", , "http://[0:2:3:4:5:6:7:8]/"],
  ["http://[1:2:3:4:5:6:7::]/", , "http://[1:2:3:4:5:6:7:0]/"],
  ["http://[1:2:3:4:5:6:7::8]/", , undefined],
  ["http://[ABCD:00ef::]/", , "http://[abcd:ef::]/"],
  ["http://[::1.2.3.4]/", , "http://[::102:304]/"],
  ["http://[1:2:3:4:5:6:1.2.3.4]/", , "http://[1:2:3:4:5:6:102:304]/"],
  ["http://[1:2:3:4:5:6:7:1.2.3.4]/", , undefined],
  ["http://[::1.2.3]/", , undefined],
  ["http://[::1.2.3.4.5]/", , undefined],
  ["http://[::01.2.3.4]/", , undefined],
  ["http://[::256.2.3.4]/", , undefined],
  ["http://[::1.2.3.4:5]/", , undefined],
  ["http://[::.1.2.3]/", , undefined],
  ["http://[1::2::3]/", , undefined],
  ["http://[:1]/", , undefined],
  ["http://[1:]/", , undefined],
  ["http://[:::]/", , undefined],
  ["http://[12345::]/", , undefined],
  ["http://[1:2:3:4:5:6:7]/", , undefined],
  ["http://[1:2:3:4:5:6:7:8:9]/", , undefined],
  ["http://[::1%eth0]/", , undefined],
  ["http://[::1/", , undefined],
  ["http://::1/", , undefined],
  ["http://[]/", , undefined],
  ["http://[::1]a/", , undefined],
  ["http://[::1]:8080/", , "http://[::1]:8080/"],
  ["foo://[::1]/", , "foo://[::1]/"],
  // Paths.
  ["http://h/a/./b/../c", , "http://h/a/c"],
  ["http://h/../../a", , "http://h/a"],
  ["http://h/a/..", , "http://h/"],
  ["http://h/a/.", , "http://h/a/"],
  ["http://h/%2e/a/%2E%2e/b/.%2e/c/%2e.", , "http://h/"],
  ["http://h/...", , "http://h/..."],
  ["http://h/%2e%2e%2e", , "http://h/%2e%2e%2e"],
  ["http://h/a//../b", , "http://h/a/b"],
  ["http://h/a\\..\\b", , "http://h/b"],
  ["foo://h/a\\..\\b", , "foo://h/a\\..\\b"],
  ["http://h/ \"<>`{}^|'[]\\%zz", , "http://h/%20%22%3C%3E%60%7B%7D%5E|'[]/%zz"],
  ["http://h/\u00e9\ud83d\ude00\ud800", , "http://h/%C3%A9%F0%9F%98%80%EF%BF%BD"],
  ["foo://h", , "foo://h"],
  ["foo://h?q", , "foo://h?q"],
  ["foo:///p", , "foo:///p"],
  ["foo:/p", , "foo:/p"],
  ["foo:/..//p", , "foo:/.//p"],
  ["foo:/.//p", , "foo:/.//p"],
  ["foo:/a/../..//p", , "foo:/.//p"],
  ["foo://h/..", , "foo://h/"],
  // Queries and fragments.
  ["http://h?a=b#c", , "http://h/?a=b#c"],
  ["http://h/?#", , "http://h/?#"],
  ["http://h/? \"#<>'`{}^", , "http://h/?%20%22#%3C%3E'%60{}^"],
  ["http://h/?'", , "http://h/?%27"],
  ["foo://h/?'", , "foo://h/?'"],
  ["http://h/?\u00e9?#\u00e9#", , "http://h/?%C3%A9?#%C3%A9#"],
  ["http://h/#\u0000\u0001 \"<>`", , "http://h/#%00%01%20%22%3C%3E%60"],
  // Opaque paths.
  ["mailto:a@b.c", , "mailto:a@b.c"],
  ["data:text/plain,a b<>\u00e9", , "data:text/plain,a b<>%C3%A9"],
  ["data:a  ?b", , "data:a %20?b"],
  ["data:a  #b", , "data:a %20#b"],
  ["data: ?b", , "data:%20?b"],
  ["data:a  ", , "data:a"],
  ["javascript:..//a/../b", , "javascript:..//a/../b"],
  // Hosts of other schemes.
  ["foo://EX ample/", , undefined],
  ["foo://EX%41mple/", , "foo://EX%41mple/"],
  ["foo://\u00e9/", , "foo://%C3%A9/"],
  ["foo://a%zz!/", , "foo://a%zz!/"],
  ["foo://a\u0001/", , "foo://a%01/"],
  ["foo://:80/", , undefined],
  ["foo://u:p@h:1/", , "foo://u:p@h:1/"],
  // File.
  ["file:///a/b", , "file:///a/b"],
  ["file:a", , "file:///a"],
  ["file:", , "file:///"],
  ["file:/a", , "file:///a"],
  ["file://host/a", , "file://host/a"],
  ["file://LOCALHOST/a", , "file:///a"],
  ["file://host:80/a", , undefined],
  ["file://u@host/a", , undefined],
  ["file:///C|/a", , "file:///C:/a"],
  ["file://C|/a", , "file:///C:/a"],
  ["file://C:/a/../..", , "file:///C:/"],
  ["file:///C:/../..", , "file:///C:/"],
  ["file:///C:/a/../../b", , "file:///C:/b"],
  ["file:///C/..", , "file:///"],
  ["file:\\\\host\\a", , "file://host/a"],
  ["file:#f", "file:///a/b?q", "file:///a/b?q#f"],
  ["file:?x", "file:///a/b?q", "file:///a/b?x"],
  ["/p", "file:///C:/a/b", "file:///C:/p"],
  ["/D:/p", "file:///C:/a/b", "file:///D:/p"],
  ["D|/p", "file:///C:/a/b", "file:///D:/p"],
  ["D|x", "file:///C:/a/b", "file:///C:/a/D|x"],
  ["..", "file:///C:/", "file:///C:/"],
  ["//srv/x", "file:///C:/a", "file://srv/x"],
  ["/x", "file://srv/C:/a", "file://srv/C:/x"],
  ["//C:/x", "file://srv/a", "file:///C:/x"],
  // Relative.
  ["", "http://h/a/b?q#f", "http://h/a/b?q"],
  ["#g", "http://h/a/b?q#f", "http://h/a/b?q#g"],
  ["?r", "http://h/a/b?q#f", "http://h/a/b?r"],
  ["?", "http://h/a/b?q#f", "http://h/a/b?"],
  ["c", "http://h/a/b?q#f", "http://h/a/c"],
  [".", "http://h/a/b", "http://h/a/"],
  ["..", "http://h/a/b", "http://h/"],
  ["../../../c", "http://h/a/b", "http://h/c"],
  ["/c", "http://u:p@h:8/a/b", "http://u:p@h:8/c"],
  ["\\c", "http://h/a/b", "http://h/c"],
  ["//i/c", "http://u:p@h:8/a/b", "http://i/c"],
  ["\\\\i\\c", "http://h/a/b", "http://i/c"],
  ["/\\i", "http://h/", "http://i/"],
  ["http:c", "http://h/a/b", "http://h/a/c"],
  ["http:/c", "http://h/a/b", "http://h/c"],
  ["http:", "http://h/a/b?q", "http://h/a/b?q"],
  ["https:c", "http://h/a/b", "https://c/"],
  ["http://", "http://h/", undefined],
  ["///i", "http://h/", "http://i/"],
  ["c:d", "http://h/", "c:d"],
  ["2:d", "http://h/a", "http://h/2:d"],
  ["c", "foo:/a/b", "foo:/a/c"],
  ["//i", "foo:/a/b", "foo://i"],
  ["///i", "foo://h/a", "foo:///i"],
  ["\\c", "foo://h/a", "foo://h/\\c"],
  ["c", "foo://h", "foo://h/c"],
  ["..", "foo://h", "foo://h/"],
  ["?q", "foo:/.//p", "foo:/.//p?q"],
  ["#f", "foo:/.//p", "foo:/.//p#f"],
  ["..//p", "foo:/a", "foo:/.//p"],
  ["#f", "mailto:a?q#e", "mailto:a?q#f"],
  ["?q", "mailto:a", undefined],
  ["x", "mailto:a", undefined],
  ["", "mailto:a", undefined],
  ["foo:x", "mailto:a", "foo:x"],
  ["x", "not a base", undefined],
];

test("parser", () => {
  for (const [input, base, href] of parsing) {
    const what = JSON.stringify(input) + (base === undefined ? "" : ` on ${base}`);
    const parsed = URL.parse(input, base);
    assertEquals(parsed === null ? undefined : parsed.href, href, what);
    assertEquals(URL.canParse(input, base), href !== undefined, `${what}, canParse`);
    if (href === undefined) {
      assertThrows(() => new URL(input, base), TypeError, "Invalid URL");
    } else {
      assertEquals(new URL(input, base).href, href, `${what}, constructor`);
      assertEquals(new URL(href).href, href, `${what}, parsed again`);
    }
  }
});

/** href, then what its attributes give. */
const attributes = [
  ["https://user:pass@example.com:1234/foo/bar?baz#quux", {
    protocol: "https:", username: "user", password: "pass", host: "example.com:1234", hostname: "example.com",
    port: "1234", pathname: "/foo/bar", search: "?baz", hash: "#quux", origin: "https://example.com:1234",
  }],
  ["http://:pass@h/", { username: "", password: "pass", host: "h", pathname: "/", search: "", hash: "", origin: "http://h" }],
  ["http://user@h/?#", { username: "user", password: "", hostname: "h", search: "", hash: "", href: "http://user@h/?#" }],
  ["ws://h:443/a#b?c", { port: "443", search: "", hash: "#b?c", origin: "ws://h:443" }],
  ["http://[::1]:81/", { host: "[::1]:81", hostname: "[::1]", port: "81" }],
  ["file:///a", { host: "", hostname: "", port: "", pathname: "/a", origin: "null" }],
  ["file://srv/a", { host: "srv", origin: "null" }],
  ["mailto:a@b?c", { protocol: "mailto:", host: "", username: "", password: "", pathname: "a@b", search: "?c", origin: "null" }],
  ["foo:/.//p?q", { host: "", hostname: "", pathname: "//p", search: "?q" }],
  ["foo://h", { host: "h", pathname: "" }],
  ["foo:///@:", { host: "", username: "", password: "", pathname: "/@:" }],
  ["foo:", { protocol: "foo:", pathname: "", href: "foo:" }],
  ["blob:https://h:8/id", { origin: "https://h:8", pathname: "https://h:8/id" }],
  ["blob:ftp://h/id", { origin: "null" }],
  ["blob:blob:https://h/", { origin: "null" }],
  ["blob:x", { origin: "null" }],
];

test("attributes", () => {
  for (const [href, want] of attributes) {
    const url = new URL(href);
    for (const name of Object.keys(want)) assertEquals(url[name], want[name], `${name} of ${href}`);
    assertEquals(String(url), url.href);
    assertEquals(JSON.stringify({ url }), JSON.stringify({ url: url.href }));
  }
});

/** [attribute, href, new value, href afterwards]. */
const setters = [
  ["protocol", "http://h:443/", "https", "https://h/"],
  ["protocol", "http://h/", "HTTPS:ignored", "https://h/"],
  ["protocol", "http://h/", "ws\n", "ws://h/"],
  ["protocol", "http://h/", "foo", "http://h/"],
  ["protocol", "http://h/", "", "http://h/"],
  ["protocol", "http://h/", "0https", "http://h/"],
  ["protocol", "http://h/", "ht%tp", "http://h/"],
  ["protocol", "http://u@h/", "file", "http://u@h/"],
  ["protocol", "http://h:8/", "file", "http://h:8/"],
  ["protocol", "http://h/", "file", "file://h/"],
  ["protocol", "file:///a", "http", "file:///a"],
  ["protocol", "file://h/a", "http", "http://h/a"],
  ["protocol", "foo://h", "bar", "bar://h"],
  ["protocol", "foo://h", "http", "foo://h"],
  ["protocol", "mailto:a", "data", "data:a"],
  ["username", "http://h/", "me", "http://me@h/"],
  ["username", "http://me@h/", "", "http://h/"],
  ["username", "http://me:pw@h/", "", "http://:pw@h/"],
  ["username", "http://h/", "a:b@c/d\t", "http://a%3Ab%40c%2Fd%09@h/"],
  ["username", "file:///a", "me", "file:///a"],
  ["username", "mailto:a", "me", "mailto:a"],
  ["username", "foo:///a", "me", "foo:///a"],
  ["password", "http://h/", "pw", "http://:pw@h/"],
  ["password", "http://me:pw@h/", "", "http://me@h/"],
  ["password", "http://:pw@h/", "", "http://h/"],
  ["password", "http://me@h/", "\u00e9%41", "http://me:%C3%A9%41@h/"],
  ["host", "http://h:1/", "i", "http://i:1/"],
  ["host", "http://h:1/", "i:2", "http://i:2/"],
  ["host", "http://h:1/", "i:80", "http://i/"],
  ["host", "http://h:1/", "i:", "http://i:1/"],
  ["host", "http://h:1/", "i:2x", "http://i:2/"],
  ["host", "http://h:1/", "i:x", "http://i:1/"],
  ["host", "http://h:1/", "i:65536", "http://i:1/"],
  ["host", "http://h/", "i/p?q#f", "http://i/"],
  ["host", "http://h/", "i\\p", "http://i/"],
  ["host", "http://h/", "", "http://h/"],
  ["host", "http://h/", ":80", "http://h/"],
  ["host", "http://h/", "a b", "http://h/"],
  ["host", "http://h/", "me@i", "http://h/"],
  ["host", "http://h/", "[::0:1]:8", "http://[::1]:8/"],
  ["host", "http://h/", "0x7f.1", "http://127.0.0.1/"],
  ["host", "http://h/", "m\u00fcnchen.de", "http://xn--mnchen-3ya.de/"],
  ["host", "foo://h/", "", "foo:///"],
  ["host", "foo://u@h/", "", "foo://u@h/"],
  ["host", "foo://h:8/", "", "foo://h:8/"],
  ["host", "foo:/a", "h", "foo://h/a"],
  ["host", "foo:/.//a", "h", "foo://h//a"],
  ["host", "foo:/.//a", "", "foo:////a"],
  ["host", "mailto:a", "h", "mailto:a"],
  ["host", "file:///a", "h", "file://h/a"],
  ["host", "file://h/a", "", "file:///a"],
  ["host", "file://h/a", "localhost", "file:///a"],
  ["host", "file://h/a", "i:8", "file://h/a"],
  ["hostname", "http://h:1/", "i", "http://i:1/"],
  ["hostname", "http://h:1/", "i:2", "http://h:1/"],
  ["hostname", "http://h/", "i/p", "http://i/"],
  ["hostname", "http://h/", "[::2]", "http://[::2]/"],
  ["hostname", "http://h/", "", "http://h/"],
  ["hostname", "foo:/.//p", "", "foo:////p"],
  ["port", "http://h/", "8080", "http://h:8080/"],
  ["port", "http://h/", 8080, "http://h:8080/"],
  ["port", "http://h:1/", "80", "http://h/"],
  ["port", "http://h:1/", "", "http://h/"],
  ["port", "http://h:1/", "2x", "http://h:2/"],
  ["port", "http://h:1/", "x", "http://h:1/"],
  ["port", "http://h:1/", "65536", "http://h:1/"],
  ["port", "http://h:1/", "\t9\n0", "http://h:90/"],
  ["port", "http://h:1/", "9/0", "http://h:9/"],
  ["port", "file:///a", "8", "file:///a"],
  ["port", "foo:///a", "8", "foo:///a"],
  ["port", "mailto:a", "8", "mailto:a"],
  ["pathname", "http://h/a", "b/c", "http://h/b/c"],
  ["pathname", "http://h/a", "/b/../c", "http://h/c"],
  ["pathname", "http://h/a", "", "http://h/"],
  ["pathname", "http://h/a?q#f", "b?c#d", "http://h/b%3Fc%23d?q#f"],
  ["pathname", "http://h/a", "\\b\\c", "http://h/b/c"],
  ["pathname", "foo://h/a", "\\b", "foo://h/\\b"],
  ["pathname", "foo://h/a", "", "foo://h"],
  ["pathname", "foo:/a", "", "foo:/"],
  ["pathname", "foo:/a", "//p", "foo:/.//p"],
  ["pathname", "foo:/.//p", "p", "foo:/p"],
  ["pathname", "mailto:a", "b", "mailto:a"],
  ["pathname", "file:///a", "C|/x/../..", "file:///C:/"],
  ["pathname", "http://h/", "\u00e9 ^{", "http://h/%C3%A9%20%5E%7B"],
  ["search", "http://h/#f", "a=b", "http://h/?a=b#f"],
  ["search", "http://h/?x#f", "?a", "http://h/?a#f"],
  ["search", "http://h/?x#f", "??a", "http://h/??a#f"],
  ["search", "http://h/?x#f", "", "http://h/#f"],
  ["search", "http://h/?x#f", "?", "http://h/?#f"],
  ["search", "http://h/", "\t?x", "http://h/??x"],
  ["search", "http://h/", "a#b'\u00e9", "http://h/?a%23b%27%C3%A9"],
  ["search", "foo://h/", "'", "foo://h/?'"],
  ["search", "data:a ?b", "", "data:a%20"],
  ["hash", "http://h/?q", "f", "http://h/?q#f"],
  ["hash", "http://h/#x", "#f#g", "http://h/#f#g"],
  ["hash", "http://h/#x", "", "http://h/"],
  ["hash", "http://h/#x", "#", "http://h/#"],
  ["hash", "http://h/", "a `<\u0000", "http://h/#a%20%60%3C%00"],
  ["hash", "mailto:a", "f", "mailto:a#f"],
  ["href", "http://h/", "foo:bar", "foo:bar"],
];

test("setters", () => {
  for (const [attribute, href, value, want] of setters) {
    const url = new URL(href);
    url[attribute] = value;
    const what = `${attribute} = ${JSON.stringify(value)} on ${href}`;
    assertEquals(url.href, want, what);
    assertEquals(new URL(want).href, want, `${what}, parsed again`);
    for (const name of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "origin"]) {
      assertEquals(url[name], new URL(want)[name], `${what}, ${name}`);
    }
  }
});

test("href setter throws and keeps the URL when the value does not parse", () => {
  const url = new URL("http://h/?a=1");
  assertThrows(() => { url.href = "nope"; }, TypeError, "Invalid URL");
  assertEquals(url.href, "http://h/?a=1");
  assertEquals(url.searchParams.get("a"), "1");
});

test("origin and searchParams cannot be set", () => {
  const url = new URL("http://h/");
  assertThrows(() => { url.origin = "x"; }, TypeError);
  assertThrows(() => { url.searchParams = "x"; }, TypeError);
});

test("arguments are converted as USVString", () => {
  assertThrows(() => new URL(), TypeError, "1 argument required, but only 0 present");
  assertThrows(() => URL.parse(), TypeError, "1 argument required");
  assertThrows(() => URL.canParse(), TypeError, "1 argument required");
  assertThrows(() => new URL(Symbol("x")), TypeError);
  assertEquals(new URL({ toString: () => "http://h/" }).href, "http://h/");
  assertEquals(new URL(new URL("x", "http://h/")).href, "http://h/x");
  assertEquals(new URL("x", new URL("http://h/")).href, "http://h/x");
  assertEquals(new URL("http://h/x", undefined).href, "http://h/x");
  assertThrows(() => new URL("x", null), TypeError, "Invalid URL");
  assertEquals(URL.parse("undefined", "http://h/").href, "http://h/undefined");
});

test("interface", () => {
  assertEquals(Object.prototype.toString.call(new URL("http://h")), "[object URL]");
  assertEquals(URL.length, 1);
  assertEquals(URL.name, "URL");
  assertEquals(URL.createObjectURL, undefined);
  for (const name of ["href", "origin", "protocol", "searchParams", "hash", "toJSON", "toString"]) {
    assert(Object.getOwnPropertyDescriptor(URL.prototype, name).enumerable, name);
  }
  assert(Object.getOwnPropertyDescriptor(URL, "canParse").enumerable);
  assertThrows(() => URL("http://h"), TypeError);
  assertThrows(() => URL.prototype.href, TypeError);
  assertThrows(() => Reflect.get(URL.prototype, "searchParams", {}), TypeError);
  assertThrows(() => Reflect.set(URL.prototype, "hash", "x", {}), TypeError);
  class Sub extends URL {}
  const sub = new Sub("http://h/a");
  assert(sub instanceof Sub && sub.pathname === "/a");
});

test("long URLs", () => {
  const long = "a".repeat(100000);
  assertEquals(new URL(`http://h/${long}?${long}#${long}`).pathname.length, 100001);
  assertEquals(new URL("http://h/" + "a/../".repeat(50000)).href, "http://h/");
  assertEquals(new URL("http://h/" + "\u00e9".repeat(10000)).href.length, 9 + 60000);
});

test("searchParams is live in both directions", () => {
  const url = new URL("http://h/?a=1&b=2#f");
  const params = url.searchParams;
  assert(params === url.searchParams);
  params.append("c", "3 4");
  assertEquals(url.href, "http://h/?a=1&b=2&c=3+4#f");
  assertEquals(url.hash, "#f");
  params.delete("a");
  params.set("b", "\u00e9&");
  assertEquals(url.search, "?b=%C3%A9%26&c=3+4");
  url.search = "?x=y";
  assertEquals([...params], [["x", "y"]]);
  url.search = "";
  assertEquals([...params], []);
  url.href = "http://i/?z";
  assertEquals([...params], [["z", ""]]);
  params.delete("z");
  assertEquals(url.href, "http://i/");
  params.append("q", "1");
  assertEquals(url.href, "http://i/?q=1");
  url.hash = "h";
  params.append("r", "2");
  assertEquals(url.href, "http://i/?q=1&r=2#h");
  url.pathname = "/longer/path";
  params.sort();
  assertEquals(url.href, "http://i/longer/path?q=1&r=2#h");
});

test("a query is kept as it was until searchParams changes it", () => {
  const url = new URL("http://h/?a=~&b=%7e");
  assertEquals(url.searchParams.get("b"), "~");
  assertEquals(url.search, "?a=~&b=%7e");
  url.searchParams.delete("none");
  assertEquals(url.search, "?a=%7E&b=%7E");
});

test("searchParams of an opaque path", () => {
  const url = new URL("data:space ?a=b#c");
  url.searchParams.delete("a");
  assertEquals(url.href, "data:space%20#c");
  url.searchParams.append("d", "");
  assertEquals(url.href, "data:space%20?d=#c");
});
