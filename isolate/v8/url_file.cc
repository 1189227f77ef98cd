// The states of the URL parser that belong to file URLs.
#include "url_parser.h"

namespace edge::url {

namespace {

// https://url.spec.whatwg.org/#start-with-a-windows-drive-letter
bool StartsWithWindowsDriveLetter(std::string_view in) {
  return IsWindowsDriveLetter(in.substr(0, 2)) && (in.size() == 2 || Contains("/\\?#", in[2]));
}

// Returns a record that has nothing but an empty host.
Parts EmptyHost() {
  Parts parts;
  parts.has_host = true;
  return parts;
}

}  // namespace

// https://url.spec.whatwg.org/#file-state
bool Parser::File() {
  const Parts* base = base_ != nullptr && base_->type == SchemeType::kFile ? base_ : nullptr;
  if (AtSlash()) {
    at_++;
    return FileSlash(base);
  }
  if (base == nullptr) {
    StartPathBehind(EmptyHost());
    return Path();
  }
  StartPathBehind(*base);
  if (StartsWithWindowsDriveLetter(Rest())) return Path();
  return PathBehindBase();
}

// https://url.spec.whatwg.org/#file-slash-state
bool Parser::FileSlash(const Parts* base) {
  if (AtSlash()) {
    at_++;
    return FileHost();
  }
  StartPathBehind(base != nullptr ? *base : EmptyHost());
  if (base != nullptr && !StartsWithWindowsDriveLetter(Rest())) {
    const std::string_view path = base->path;
    if (path.size() >= 3 && IsAlpha(path[1]) && path[2] == ':' &&
        (path.size() == 3 || path[3] == '/')) {
      href_.append(path, 0, 3);
    }
  }
  return Path();
}

// https://url.spec.whatwg.org/#file-host-state
bool Parser::FileHost() {
  const size_t start = at_;
  const std::string_view host = TakeToDelimiter();
  if (IsWindowsDriveLetter(host)) {
    at_ = start;
    StartPathBehind(EmptyHost());
    return Path();
  }
  std::string parsed;
  if (!host.empty() && !AppendHost(host, false, to_ascii_, &parsed)) return false;
  Parts authority = EmptyHost();
  if (parsed != "localhost") authority.host = parsed;
  StartPathBehind(authority);
  if (AtSlash()) at_++;
  return Path();
}

}  // namespace edge::url
