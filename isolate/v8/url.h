// URL Standard: https://url.spec.whatwg.org/
//
// The URL parser and the setters of the URL class, on UTF-8 text, without V8
// types. Every function may run on any thread; none keeps state.
#ifndef EDGE_ISOLATE_V8_URL_H_
#define EDGE_ISOLATE_V8_URL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace edge::url {

// Unicode ToASCII with the URL Standard's parameters (beStrict false), for
// domains that hold non-ASCII or an "xn--" label. `in` is borrowed for the call
// and may be ill-formed UTF-8, which the function refuses. Returns false on
// failure, else appends the result to `out`, which was empty.
using DomainToAscii = bool (*)(const char* in, size_t len, std::string* out);

// The special schemes and "every other one". The numbers are known to url.js.
enum class SchemeType : uint32_t {
  kHttp = 0,
  kNotSpecial = 1,
  kHttps = 2,
  kWs = 3,
  kFtp = 4,
  kWss = 5,
  kFile = 6,
};

// The value of an offset, or a port, that is null.
inline constexpr uint32_t kOmitted = 0xffffffff;

// A serialized URL and where its components lie in it:
//
//   https://user:pass@example.com:1234/foo/bar?baz#quux
//         |     |    |          | ^^^^|       |   |
//         |     |    |          | |   |       |   hash_start
//         |     |    |          | |   |       search_start
//         |     |    |          | |   pathname_start
//         |     |    |          | port (its value)
//         |     |    |          host_end
//         |     |    host_start (of "@", or of the host when there is none)
//         |     username_end
//         protocol_end
//
// Without a host, username_end, host_start and host_end equal protocol_end.
struct Url {
  std::string href;
  uint32_t protocol_end = 0;
  uint32_t username_end = 0;
  uint32_t host_start = 0;
  uint32_t host_end = 0;
  uint32_t port = kOmitted;
  uint32_t pathname_start = 0;
  uint32_t search_start = kOmitted;
  uint32_t hash_start = kOmitted;
  SchemeType scheme_type = SchemeType::kNotSpecial;
};

// Parses `input` against `base`, which may be null. Returns false on failure
// and leaves `out` in an unspecified state.
// https://url.spec.whatwg.org/#concept-url-parser
bool Parse(std::string_view input, const std::string_view* base, DomainToAscii to_ascii, Url* out);

// The attributes that can be set. The numbers are known to url.js.
enum class Attribute : uint32_t {
  kHref = 0,
  kProtocol = 1,
  kUsername = 2,
  kPassword = 3,
  kHost = 4,
  kHostname = 5,
  kPort = 6,
  kPathname = 7,
  kSearch = 8,
  kHash = 9,
};

// Runs the setter of `which` with `value` on `href`, which Parse or Set made.
// Returns false when the setter changes nothing (for kHref: when `value` does
// not parse, which throws in JavaScript) and leaves `out` in an unspecified
// state then. https://url.spec.whatwg.org/#api
bool Set(std::string_view href, Attribute which, std::string_view value, DomainToAscii to_ascii,
         Url* out);

}  // namespace edge::url

#endif  // EDGE_ISOLATE_V8_URL_H_
