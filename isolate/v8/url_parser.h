// The basic URL parser without a state override. Nobody but url_parse.cc and
// url_file.cc includes this.
#ifndef EDGE_ISOLATE_V8_URL_PARSER_H_
#define EDGE_ISOLATE_V8_URL_PARSER_H_

#include <algorithm>

#include "url_internal.h"

namespace edge::url {

// Parses one input into a Url, whose href grows from left to right. Each member
// is one state of the standard, or a few that always follow each other.
// https://url.spec.whatwg.org/#concept-basic-url-parser
class Parser {
 public:
  // `in` holds no tabs and newlines; `base` may be null.
  Parser(std::string_view in, const Parts* base, DomainToAscii to_ascii, Url* out)
      : in_(in), base_(base), to_ascii_(to_ascii), out_(*out), href_(out->href) {}
  Parser(const Parser&) = delete;

  // Returns false on failure.
  bool Run() {
    href_.reserve(in_.size() + 16);
    const size_t scheme = SchemeLength(in_);
    if (scheme == 0 || scheme == in_.size()) return NoScheme();
    for (const char c : in_.substr(0, scheme)) href_.push_back(ToLower(c));
    SetType(TypeOf(href_));
    at_ = scheme + 1;
    if (type_ == SchemeType::kFile) return File();
    if (IsSpecial(type_)) return SpecialRelativeOrAuthority();
    if (!SkipIf('/')) return OpaquePath();
    return SkipIf('/') ? Authority() : PathWithoutHost();
  }

 private:
  std::string_view Rest() const { return in_.substr(at_); }
  // Returns the current character, NUL at the end; ask AtEnd where that matters.
  char Current() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  bool AtEnd() const { return at_ == in_.size(); }
  bool AtSlash() const { return Current() == '/' || (Current() == '\\' && IsSpecial(type_)); }

  bool SkipIf(char c) {
    if (AtEnd() || in_[at_] != c) return false;
    at_++;
    return true;
  }

  // Takes what lies before the next of "/", "?", "#" and, in special URLs, "\".
  std::string_view TakeToDelimiter() {
    const size_t end = std::min(in_.find_first_of(IsSpecial(type_) ? "/?#\\" : "/?#", at_),
                                in_.size());
    const std::string_view taken = in_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  // Ends the scheme, which href_ holds.
  void SetType(SchemeType type) {
    type_ = out_.scheme_type = type;
    href_.push_back(':');
    out_.protocol_end = static_cast<uint32_t>(href_.size());
  }

  // Takes the scheme of the base unless the input had the same one.
  void TakeBaseScheme() {
    if (!href_.empty()) return;
    href_.append(base_->scheme);
    SetType(base_->type);
  }

  void StartPath() { out_.pathname_start = static_cast<uint32_t>(href_.size()); }

  // Starts a path behind the authority of the base, or behind an empty host.
  void StartPathBehind(const Parts& authority) {
    AppendAuthority(authority, &out_);
    has_host_ = authority.has_host;
    StartPath();
  }

  // https://url.spec.whatwg.org/#no-scheme-state
  bool NoScheme() {
    if (base_ == nullptr) return false;
    if (base_->opaque_path) {
      if (Current() != '#') return false;
      TakeBaseScheme();
      StartPathBehind(*base_);
      href_.append(base_->path);
      AppendBaseQuery();
      return QueryAndFragment();
    }
    TakeBaseScheme();
    return type_ == SchemeType::kFile ? File() : Relative();
  }

  // https://url.spec.whatwg.org/#special-relative-or-authority-state
  // https://url.spec.whatwg.org/#special-authority-slashes-state
  bool SpecialRelativeOrAuthority() {
    if (base_ != nullptr && base_->type == type_ && !Rest().starts_with("//")) return Relative();
    return SpecialAuthority();
  }

  // https://url.spec.whatwg.org/#special-authority-ignore-slashes-state
  bool SpecialAuthority() {
    while (AtSlash()) at_++;
    return Authority();
  }

  // https://url.spec.whatwg.org/#relative-state
  // https://url.spec.whatwg.org/#relative-slash-state
  bool Relative() {
    if (AtSlash()) {
      at_++;
      if (AtSlash() && IsSpecial(type_)) return SpecialAuthority();
      if (SkipIf('/')) return Authority();
      StartPathBehind(*base_);
      return Path();
    }
    StartPathBehind(*base_);
    return PathBehindBase();
  }

  // Continues behind the path of the base, which is not opaque.
  bool PathBehindBase() {
    href_.append(base_->path);
    if (AtEnd() || Current() == '#' || Current() == '?') {
      GuardPath();
      if (Current() != '?') AppendBaseQuery();
      return QueryAndFragment();
    }
    ShortenPath(type_, out_.pathname_start, &href_);
    return Path();
  }

  void AppendBaseQuery() {
    if (!base_->has_query) return;
    out_.search_start = static_cast<uint32_t>(href_.size());
    href_.push_back('?');
    href_.append(base_->query);
  }

  // https://url.spec.whatwg.org/#authority-state
  // https://url.spec.whatwg.org/#host-state
  bool Authority() {
    std::string_view authority = TakeToDelimiter();
    has_host_ = true;
    href_ += "//";
    const size_t at = authority.rfind('@');
    if (at != std::string_view::npos) {
      if (at + 1 == authority.size()) return false;
      AppendCredentials(authority.substr(0, at));
      authority.remove_prefix(at + 1);
    } else {
      out_.username_end = out_.host_start = static_cast<uint32_t>(href_.size());
    }
    const size_t host = HostLength(authority);
    if (host == 0 && (IsSpecial(type_) || !authority.empty())) return false;
    if (host > 0 && !AppendHost(authority.substr(0, host), !IsSpecial(type_), to_ascii_, &href_)) {
      return false;
    }
    out_.host_end = static_cast<uint32_t>(href_.size());
    if (host < authority.size() && !Port(authority.substr(host + 1))) return false;
    return PathStart();
  }

  void AppendCredentials(std::string_view credentials) {
    const size_t colon = std::min(credentials.find(':'), credentials.size());
    const size_t start = href_.size();
    AppendEncoded(credentials.substr(0, colon), kUserinfo, &href_);
    out_.username_end = static_cast<uint32_t>(href_.size());
    if (colon + 1 < credentials.size()) {
      href_.push_back(':');
      AppendEncoded(credentials.substr(colon + 1), kUserinfo, &href_);
    }
    out_.host_start = static_cast<uint32_t>(href_.size());
    if (href_.size() > start) href_.push_back('@');
  }

  // https://url.spec.whatwg.org/#port-state
  bool Port(std::string_view in) {
    size_t digits;
    uint32_t port;
    if (!ReadPort(in, type_, &digits, &port) || digits != in.size()) return false;
    if (digits == 0 || port == kOmitted) return true;
    out_.port = port;
    href_.push_back(':');
    href_ += std::to_string(port);
    return true;
  }

  // The states of file URLs, in url_file.cc; `base` is a file URL or null.
  bool File();
  bool FileSlash(const Parts* base);
  bool FileHost();

  bool PathWithoutHost() {
    StartPathBehind(Parts());
    return Path();
  }

  // https://url.spec.whatwg.org/#path-start-state
  bool PathStart() {
    StartPath();
    if (!IsSpecial(type_) && !AtSlash()) return QueryAndFragment();
    if (AtSlash()) at_++;
    return Path();
  }

  // https://url.spec.whatwg.org/#path-state
  bool Path() {
    at_ += AppendPath(Rest(), type_, false, out_.pathname_start, &href_);
    GuardPath();
    return QueryAndFragment();
  }

  // Keeps a path that starts with an empty segment, in a URL without a host,
  // from being read as a host the next time.
  void GuardPath() {
    const size_t start = out_.pathname_start;
    if (has_host_ || !std::string_view(href_).substr(start).starts_with("//")) return;
    href_.insert(start, "/.");
    out_.pathname_start += 2;
  }

  // https://url.spec.whatwg.org/#cannot-be-a-base-url-path-state
  bool OpaquePath() {
    StartPathBehind(Parts());
    const size_t end = std::min(in_.find_first_of("?#", at_), in_.size());
    AppendEncoded(in_.substr(at_, end - at_), kC0Control, &href_);
    // Setters may cut off what follows, and a trailing space would then be lost
    // when the URL is parsed again.
    if (end > at_ && end < in_.size() && in_[end - 1] == ' ') {
      href_.pop_back();
      href_ += "%20";
    }
    at_ = end;
    return QueryAndFragment();
  }

  // https://url.spec.whatwg.org/#query-state
  // https://url.spec.whatwg.org/#fragment-state
  bool QueryAndFragment() {
    if (Current() == '?') {
      const size_t end = std::min(in_.find('#', at_), in_.size());
      out_.search_start = static_cast<uint32_t>(href_.size());
      href_.push_back('?');
      AppendEncoded(in_.substr(at_ + 1, end - at_ - 1), IsSpecial(type_) ? kSpecialQuery : kQuery,
                    &href_);
      at_ = end;
    }
    if (Current() == '#') {
      out_.hash_start = static_cast<uint32_t>(href_.size());
      href_.push_back('#');
      AppendEncoded(in_.substr(at_ + 1), kFragment, &href_);
    }
    return true;
  }

  const std::string_view in_;
  const Parts* const base_;
  const DomainToAscii to_ascii_;
  Url& out_;
  std::string& href_;
  size_t at_ = 0;
  SchemeType type_ = SchemeType::kNotSpecial;
  bool has_host_ = false;
};

}  // namespace edge::url

#endif  // EDGE_ISOLATE_V8_URL_PARSER_H_
