// Paths that are lists of segments, in serialized form.
#include "url_internal.h"

namespace edge::url {

namespace {

// Takes one "." or "%2e" off the front of `segment`.
bool TakeDot(std::string_view* segment) {
  if (segment->starts_with('.')) {
    segment->remove_prefix(1);
    return true;
  }
  if (segment->size() >= 3 && (*segment)[0] == '%' && (*segment)[1] == '2' &&
      ToLower((*segment)[2]) == 'e') {
    segment->remove_prefix(3);
    return true;
  }
  return false;
}

// Returns 1 for a single-dot URL path segment, 2 for a double-dot one, else 0.
// https://url.spec.whatwg.org/#single-dot-path-segment
int DotsOf(std::string_view segment) {
  if (segment.empty() || segment.size() > 6 || !TakeDot(&segment)) return 0;
  if (segment.empty()) return 1;
  return TakeDot(&segment) && segment.empty() ? 2 : 0;
}

}  // namespace

void ShortenPath(SchemeType type, size_t start, std::string* out) {
  const std::string_view path = std::string_view(*out).substr(start);
  // A drive letter is never removed: file:///C:/.. is file:///C:/.
  if (type == SchemeType::kFile && path.size() == 3 && IsAlpha(path[1]) && path[2] == ':') return;
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) out->resize(start + slash);
}

size_t AppendPath(std::string_view in, SchemeType type, bool setter, size_t start,
                  std::string* out) {
  const bool special = IsSpecial(type);
  for (size_t at = 0;;) {
    size_t end = at;
    while (end < in.size()) {
      const char c = in[end];
      if (c == '/' || (c == '\\' && special) || (!setter && (c == '?' || c == '#'))) break;
      end++;
    }
    const std::string_view segment = in.substr(at, end - at);
    const bool slash = end < in.size() && in[end] != '?' && in[end] != '#';
    const int dots = DotsOf(segment);
    if (dots == 2) ShortenPath(type, start, out);
    if (dots == 0) {
      const bool drive = type == SchemeType::kFile && out->size() == start &&
                         IsWindowsDriveLetter(segment);
      out->push_back('/');
      AppendEncoded(segment, kPath, out);
      if (drive) out->back() = ':';
    } else if (!slash) {
      out->push_back('/');
    }
    if (!slash) return end;
    at = end + 1;
  }
}

}  // namespace edge::url
