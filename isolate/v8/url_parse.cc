// What becomes of an input before and after the parser proper.
#include "url_parser.h"

namespace edge::url {

namespace {

// Removes C0 controls and spaces from both ends.
std::string_view Trim(std::string_view in) {
  while (!in.empty() && static_cast<uint8_t>(in.front()) <= ' ') in.remove_prefix(1);
  while (!in.empty() && static_cast<uint8_t>(in.back()) <= ' ') in.remove_suffix(1);
  return in;
}

bool ParseWith(std::string_view input, const Parts* base, DomainToAscii to_ascii, Url* out) {
  std::string storage;
  *out = Url();
  return Parser(RemoveTabsAndNewlines(Trim(input), &storage), base, to_ascii, out).Run();
}

}  // namespace

bool Parse(std::string_view input, const std::string_view* base, DomainToAscii to_ascii, Url* out) {
  if (base == nullptr) return ParseWith(input, nullptr, to_ascii, out);
  Url parsed;
  if (!ParseWith(*base, nullptr, to_ascii, &parsed)) return false;
  const Parts parts = Split(parsed.href);
  return ParseWith(input, &parts, to_ascii, out);
}

}  // namespace edge::url
