// What the files of the URL parser share. Nobody else includes this.
#ifndef EDGE_ISOLATE_V8_URL_INTERNAL_H_
#define EDGE_ISOLATE_V8_URL_INTERNAL_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "url.h"

namespace edge::url {

// Percent-encode sets, one bit each in kEncodeTable.
// https://url.spec.whatwg.org/#percent-encoded-bytes
enum EncodeSet : uint8_t {
  kC0Control = 1 << 0,
  kFragment = 1 << 1,
  kQuery = 1 << 2,
  kSpecialQuery = 1 << 3,
  kPath = 1 << 4,
  kUserinfo = 1 << 5,
};

constexpr bool Contains(std::string_view set, unsigned c) {
  return c < 0x80 && set.find(static_cast<char>(c)) != std::string_view::npos;
}

constexpr std::array<uint8_t, 256> MakeEncodeTable() {
  std::array<uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; c++) {
    const bool c0 = c <= 0x1f || c > 0x7e;
    const bool query = c0 || Contains(" \"#<>", c);
    const bool path = query || Contains("?^`{}", c);
    uint8_t bits = 0;
    if (c0) bits |= kC0Control;
    if (c0 || Contains(" \"<>`", c)) bits |= kFragment;
    if (query) bits |= kQuery;
    if (query || c == '\'') bits |= kSpecialQuery;
    if (path) bits |= kPath;
    if (path || Contains("/:;=@[\\]|", c)) bits |= kUserinfo;
    table[c] = bits;
  }
  return table;
}

inline constexpr std::array<uint8_t, 256> kEncodeTable = MakeEncodeTable();

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Returns the value of a hexadecimal digit, -1 for any other character.
constexpr int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  c = ToLower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// https://url.spec.whatwg.org/#windows-drive-letter
constexpr bool IsWindowsDriveLetter(std::string_view s) {
  return s.size() == 2 && IsAlpha(s[0]) && (s[1] == ':' || s[1] == '|');
}

// Appends `in` to `out`, percent-encoding the bytes that are in `set`.
void AppendEncoded(std::string_view in, EncodeSet set, std::string* out);

// Appends `in` to `out` with its percent-encoded bytes decoded.
void AppendDecoded(std::string_view in, std::string* out);

// Returns `in` without tabs and newlines, in `storage` when there were any.
std::string_view RemoveTabsAndNewlines(std::string_view in, std::string* storage);

// Returns the length of the scheme that `in` starts with when it is followed by
// ":" or by the end of `in`, 0 when there is none.
size_t SchemeLength(std::string_view in);

// `scheme` is in lower case.
SchemeType TypeOf(std::string_view scheme);

// Returns the default port of a special scheme, kOmitted when it has none.
uint32_t DefaultPort(SchemeType type);

inline bool IsSpecial(SchemeType type) { return type != SchemeType::kNotSpecial; }

// Reads the digits that `in` starts with as a port into `port`, kOmitted for
// the scheme's default one, and their number into `digits`. Returns false when
// they are above 65535.
bool ReadPort(std::string_view in, SchemeType type, size_t* digits, uint32_t* port);

// A URL record whose components borrow the text that it was split from. The
// path is in serialized form, for example "/a/b"; "" is the empty list.
// https://url.spec.whatwg.org/#concept-url
struct Parts {
  std::string_view scheme;
  std::string_view username;
  std::string_view password;
  std::string_view host;
  std::string_view path;
  std::string_view query;
  std::string_view fragment;
  uint32_t port = kOmitted;
  SchemeType type = SchemeType::kNotSpecial;
  bool has_host = false;
  bool opaque_path = false;
  bool has_query = false;
  bool has_fragment = false;

  bool HasCredentials() const { return !username.empty() || !password.empty(); }
};

// Splits a serialized URL, which it trusts to be one.
Parts Split(std::string_view href);

// Appends "//", credentials, host and port, if there is a host, to `out`, which
// holds the scheme, and notes their offsets.
void AppendAuthority(const Parts& parts, Url* out);

// Makes `out` the serialization of `parts`, which must not borrow from it.
// https://url.spec.whatwg.org/#url-serializing
void Serialize(const Parts& parts, Url* out);

// Returns where the host ends in `in`: at the first ":" outside of brackets.
size_t HostLength(std::string_view in);

// Appends a host, parsed and serialized, to `out`. Returns false on failure.
// https://url.spec.whatwg.org/#host-parsing
bool AppendHost(std::string_view in, bool opaque, DomainToAscii to_ascii, std::string* out);

// Removes the last segment of the path that starts at `start` in `out`.
// https://url.spec.whatwg.org/#shorten-a-urls-path
void ShortenPath(SchemeType type, size_t start, std::string* out);

// Runs the path state on `in`, whose first segment follows a "/" that was
// consumed, and extends the path that starts at `start` in `out`. Stops at "?"
// and "#" unless a setter runs. Returns how much was consumed.
// https://url.spec.whatwg.org/#path-state
size_t AppendPath(std::string_view in, SchemeType type, bool setter, size_t start,
                  std::string* out);

}  // namespace edge::url

#endif  // EDGE_ISOLATE_V8_URL_INTERNAL_H_
