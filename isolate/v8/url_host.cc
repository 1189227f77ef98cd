// Hosts: domains, IPv4 and IPv6 addresses, opaque hosts.
// https://url.spec.whatwg.org/#hosts-(domains-and-ip-addresses)
#include <charconv>
#include <utility>

#include "url_internal.h"

namespace edge::url {

namespace {

// What the characters of a domain demand, one bit each.
enum DomainClass : uint8_t {
  kUpper = 1 << 0,
  kPercent = 1 << 1,
  kNonAscii = 1 << 2,
  kForbiddenHost = 1 << 3,
  kForbiddenDomain = 1 << 4,
};

constexpr std::array<uint8_t, 256> MakeDomainTable() {
  std::array<uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; c++) {
    uint8_t bits = 0;
    if (c >= 'A' && c <= 'Z') bits |= kUpper;
    if (c >= 0x80) bits |= kNonAscii;
    // https://url.spec.whatwg.org/#forbidden-host-code-point
    if (c == 0 || Contains("\t\n\r #/:<>?@[\\]^|", c)) bits |= kForbiddenHost;
    // https://url.spec.whatwg.org/#forbidden-domain-code-point
    if ((bits & kForbiddenHost) || c <= 0x1f || c == '%' || c == 0x7f) bits |= kForbiddenDomain;
    if (c == '%') bits |= kPercent;
    table[c] = bits;
  }
  return table;
}

constexpr std::array<uint8_t, 256> kDomainTable = MakeDomainTable();

// Returns the union of the classes of the characters of `in`.
uint8_t Classify(std::string_view in) {
  uint8_t bits = 0;
  for (const char c : in) bits |= kDomainTable[static_cast<uint8_t>(c)];
  return bits;
}

// Reports whether a label of `domain` starts with "xn--" in any case.
bool HasPunycodeLabel(std::string_view domain) {
  for (size_t at = 0; at + 4 <= domain.size(); at++) {
    if (ToLower(domain[at]) == 'x' && ToLower(domain[at + 1]) == 'n' && domain[at + 2] == '-' &&
        domain[at + 3] == '-') {
      return true;
    }
    at = domain.find('.', at);
    if (at == std::string_view::npos) return false;
  }
  return false;
}

// Reads one part of an IPv4 address; false is failure. What does not fit 64
// bits becomes a value that every range check refuses.
// https://url.spec.whatwg.org/#ipv4-number-parser
bool ReadIPv4Number(std::string_view in, uint64_t* out) {
  if (in.empty()) return false;
  int radix = 10;
  if (in.size() >= 2 && in[0] == '0' && ToLower(in[1]) == 'x') {
    in.remove_prefix(2);
    radix = 16;
  } else if (in.size() >= 2 && in[0] == '0') {
    in.remove_prefix(1);
    radix = 8;
  }
  *out = 0;
  if (in.empty()) return true;
  const auto [end, error] = std::from_chars(in.data(), in.data() + in.size(), *out, radix);
  if (end != in.data() + in.size()) return false;
  if (error == std::errc::result_out_of_range) *out = UINT64_MAX;
  return error != std::errc::invalid_argument;
}

// Returns what follows the last "." of `domain`, one trailing "." left out.
std::string_view LastLabel(std::string_view domain) {
  if (domain.ends_with('.')) domain.remove_suffix(1);
  return domain.substr(domain.rfind('.') + 1);
}

// https://url.spec.whatwg.org/#ends-in-a-number-checker
bool EndsInNumber(std::string_view domain) {
  const std::string_view last = LastLabel(domain);
  if (last.empty() || !IsDigit(last[0])) return false;
  if (last.find_first_not_of("0123456789") == std::string_view::npos) return true;
  uint64_t ignored;
  return ReadIPv4Number(last, &ignored);
}

// https://url.spec.whatwg.org/#concept-ipv4-parser
bool AppendIPv4(std::string_view in, std::string* out) {
  if (in.ends_with('.')) in.remove_suffix(1);
  uint64_t numbers[4];
  size_t count = 0;
  for (bool more = true; more;) {
    if (count == 4) return false;
    const size_t dot = in.find('.');
    more = dot != std::string_view::npos;
    if (!ReadIPv4Number(in.substr(0, dot), &numbers[count++])) return false;
    if (more) in.remove_prefix(dot + 1);
  }
  uint64_t address = numbers[count - 1];
  if (address >= uint64_t{1} << (8 * (5 - count))) return false;
  for (size_t i = 0; i + 1 < count; i++) {
    if (numbers[i] > 255) return false;
    address += numbers[i] << (8 * (3 - i));
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    *out += std::to_string(address >> shift & 0xff);
    if (shift > 0) *out += '.';
  }
  return true;
}

// Reads the dotted IPv4 address that ends an IPv6 one into two pieces.
bool ReadEmbeddedIPv4(std::string_view in, uint16_t* pieces) {
  for (int seen = 0; seen < 4; seen++) {
    if (seen > 0) {
      if (!in.starts_with('.')) return false;
      in.remove_prefix(1);
    }
    size_t n = 0;
    unsigned value = 0;
    for (; n < in.size() && IsDigit(in[n]); n++) {
      if (n > 0 && value == 0) return false;
      value = value * 10 + static_cast<unsigned>(in[n] - '0');
      if (value > 255) return false;
    }
    if (n == 0) return false;
    in.remove_prefix(n);
    pieces[seen / 2] = static_cast<uint16_t>(pieces[seen / 2] << 8 | value);
  }
  return in.empty();
}

// https://url.spec.whatwg.org/#concept-ipv6-parser
bool ReadIPv6(std::string_view in, std::array<uint16_t, 8>* address) {
  address->fill(0);
  size_t index = 0;
  size_t compress = 0;  // first piece behind the "::", which takes one itself
  bool compressed = false;
  if (in.starts_with(':')) {
    if (!in.starts_with("::")) return false;
    in.remove_prefix(2);
    compressed = true;
    compress = index = 1;
  }
  while (!in.empty()) {
    if (index == 8) return false;
    if (in[0] == ':') {
      if (compressed) return false;
      in.remove_prefix(1);
      compressed = true;
      compress = ++index;
      continue;
    }
    unsigned value = 0;
    size_t n = 0;
    for (; n < 4 && n < in.size() && HexValue(in[n]) >= 0; n++) {
      value = value << 4 | static_cast<unsigned>(HexValue(in[n]));
    }
    if (n < in.size() && in[n] == '.') {
      if (n == 0 || index > 6) return false;
      if (!ReadEmbeddedIPv4(in, &(*address)[index])) return false;
      index += 2;
      break;
    }
    in.remove_prefix(n);
    if (!in.empty()) {
      // A separator must follow, and something must follow it.
      if (in[0] != ':' || in.size() == 1) return false;
      in.remove_prefix(1);
    }
    (*address)[index++] = static_cast<uint16_t>(value);
  }
  if (!compressed) return index == 8;
  // What was read behind the "::" moves to the end.
  for (size_t to = 8, from = index; from > compress;) {
    std::swap((*address)[--to], (*address)[--from]);
  }
  return true;
}

// https://url.spec.whatwg.org/#concept-ipv6-serializer
void AppendIPv6(const std::array<uint16_t, 8>& address, std::string* out) {
  size_t zeros_at = 8;
  size_t zeros = 1;
  for (size_t i = 0; i < 8;) {
    size_t end = i;
    while (end < 8 && address[end] == 0) end++;
    if (end - i > zeros) {
      zeros = end - i;
      zeros_at = i;
    }
    i = end + 1;
  }
  *out += '[';
  for (size_t i = 0; i < 8; i++) {
    if (i == zeros_at) {
      *out += i == 0 ? "::" : ":";
      i += zeros - 1;
      continue;
    }
    char hex[4];
    const auto result = std::to_chars(hex, hex + 4, address[i], 16);
    out->append(hex, static_cast<size_t>(result.ptr - hex));
    if (i < 7) *out += ':';
  }
  *out += ']';
}

// Appends the ASCII form of a percent-decoded domain to `out`.
// https://url.spec.whatwg.org/#concept-domain-to-ascii
bool AppendAsciiDomain(std::string_view domain, DomainToAscii to_ascii, std::string* out) {
  uint8_t bits = Classify(domain);
  std::string mapped;
  if ((bits & kNonAscii) || HasPunycodeLabel(domain)) {
    if (!to_ascii(domain.data(), domain.size(), &mapped)) return false;
    domain = mapped;
    bits = Classify(domain);
  }
  if (domain.empty() || (bits & (kForbiddenDomain | kNonAscii))) return false;
  if (!(bits & kUpper)) {
    out->append(domain);
    return true;
  }
  for (const char c : domain) out->push_back(ToLower(c));
  return true;
}

}  // namespace

size_t HostLength(std::string_view in) {
  bool inside = false;
  for (size_t i = 0; i < in.size(); i++) {
    if (in[i] == ':' && !inside) return i;
    if (in[i] == '[') inside = true;
    if (in[i] == ']') inside = false;
  }
  return in.size();
}

bool AppendHost(std::string_view in, bool opaque, DomainToAscii to_ascii, std::string* out) {
  if (in.starts_with('[')) {
    std::array<uint16_t, 8> address;
    if (!in.ends_with(']') || !ReadIPv6(in.substr(1, in.size() - 2), &address)) return false;
    AppendIPv6(address, out);
    return true;
  }
  const uint8_t bits = Classify(in);
  if (opaque) {
    if (bits & kForbiddenHost) return false;
    AppendEncoded(in, kC0Control, out);
    return true;
  }
  const size_t start = out->size();
  if (bits & kPercent) {
    std::string decoded;
    AppendDecoded(in, &decoded);
    if (!AppendAsciiDomain(decoded, to_ascii, out)) return false;
  } else if (!AppendAsciiDomain(in, to_ascii, out)) {
    return false;
  }
  const std::string_view domain = std::string_view(*out).substr(start);
  if (!EndsInNumber(domain)) return true;
  std::string address;
  if (!AppendIPv4(domain, &address)) return false;
  out->replace(start, std::string::npos, address);
  return true;
}

}  // namespace edge::url
