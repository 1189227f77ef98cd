// The setters of the URL class: the basic URL parser with a state override.
// https://url.spec.whatwg.org/#api
#include <algorithm>

#include "url_internal.h"

namespace edge::url {

namespace {

// Changes one component of a split URL. The component's new text lies in
// text_, which the parts then borrow, so that a Setter is used once.
class Setter {
 public:
  Setter(Parts* parts, DomainToAscii to_ascii) : url_(*parts), to_ascii_(to_ascii) {}
  Setter(const Setter&) = delete;

  // Reports whether anything was set.
  bool Run(Attribute which, std::string_view value) {
    // Only the parser removes tabs and newlines, so that what the setters
    // themselves look at still has them.
    std::string storage;
    const std::string_view cleaned = RemoveTabsAndNewlines(value, &storage);
    switch (which) {
      case Attribute::kHref:
        return false;
      case Attribute::kProtocol:
        return Protocol(cleaned);
      case Attribute::kUsername:
        return Credential(value, &url_.username);
      case Attribute::kPassword:
        return Credential(value, &url_.password);
      case Attribute::kHost:
        return Host(cleaned, true);
      case Attribute::kHostname:
        return Host(cleaned, false);
      case Attribute::kPort:
        return value.empty() ? ClearPort() : Port(cleaned);
      case Attribute::kPathname:
        return Pathname(cleaned);
      case Attribute::kSearch:
        return Search(value);
      case Attribute::kHash:
        return Hash(value);
    }
    return false;
  }

 private:
  // https://url.spec.whatwg.org/#cannot-have-a-username-password-port
  bool CannotHaveCredentialsOrPort() const {
    return url_.host.empty() || url_.type == SchemeType::kFile;
  }

  // https://url.spec.whatwg.org/#dom-url-protocol
  bool Protocol(std::string_view value) {
    const size_t length = SchemeLength(value);
    for (const char c : value.substr(0, length)) text_.push_back(ToLower(c));
    const SchemeType type = TypeOf(text_);
    if (length == 0 || IsSpecial(type) != IsSpecial(url_.type)) return false;
    if (type == SchemeType::kFile && (url_.HasCredentials() || url_.port != kOmitted)) return false;
    if (url_.type == SchemeType::kFile && url_.host.empty()) return false;
    url_.scheme = text_;
    url_.type = type;
    if (url_.port == DefaultPort(type)) url_.port = kOmitted;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-username
  bool Credential(std::string_view value, std::string_view* component) {
    if (CannotHaveCredentialsOrPort()) return false;
    AppendEncoded(value, kUserinfo, &text_);
    *component = text_;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-host
  // https://url.spec.whatwg.org/#dom-url-hostname
  bool Host(std::string_view value, bool with_port) {
    if (url_.opaque_path) return false;
    const bool special = IsSpecial(url_.type);
    value = value.substr(0, value.find_first_of(special ? "/?#\\" : "/?#"));
    if (url_.type == SchemeType::kFile) return FileHost(value);
    const size_t colon = HostLength(value);
    const bool has_colon = colon < value.size();
    const std::string_view host = value.substr(0, colon);
    if (host.empty() && (has_colon || special || url_.HasCredentials() || url_.port != kOmitted)) {
      return false;
    }
    if (has_colon && !with_port) return false;
    if (!host.empty() && !AppendHost(host, !special, to_ascii_, &text_)) return false;
    url_.host = text_;
    url_.has_host = true;
    // A port that is wrong leaves the host set.
    if (has_colon) SetPort(value.substr(colon + 1));
    return true;
  }

  // https://url.spec.whatwg.org/#file-host-state
  bool FileHost(std::string_view value) {
    if (!value.empty() && !AppendHost(value, false, to_ascii_, &text_)) return false;
    if (text_ == "localhost") text_.clear();
    url_.host = text_;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-port
  bool Port(std::string_view value) {
    if (CannotHaveCredentialsOrPort()) return false;
    return SetPort(value);
  }

  bool ClearPort() {
    if (CannotHaveCredentialsOrPort()) return false;
    url_.port = kOmitted;
    return true;
  }

  // Sets the port to the digits that `value` starts with, if there are any.
  bool SetPort(std::string_view value) {
    size_t digits;
    uint32_t port;
    if (!ReadPort(value, url_.type, &digits, &port) || digits == 0) return false;
    url_.port = port;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-pathname
  bool Pathname(std::string_view value) {
    if (url_.opaque_path) return false;
    const bool special = IsSpecial(url_.type);
    if (value.starts_with('/') || (special && value.starts_with('\\'))) {
      value.remove_prefix(1);
    } else if (value.empty() && !special) {
      url_.path = url_.has_host ? "" : "/";
      return true;
    }
    AppendPath(value, url_.type, true, 0, &text_);
    url_.path = text_;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-search
  bool Search(std::string_view value) {
    url_.has_query = !value.empty();
    if (value.starts_with('?')) value.remove_prefix(1);
    std::string storage;
    AppendEncoded(RemoveTabsAndNewlines(value, &storage),
                  IsSpecial(url_.type) ? kSpecialQuery : kQuery, &text_);
    url_.query = text_;
    return true;
  }

  // https://url.spec.whatwg.org/#dom-url-hash
  bool Hash(std::string_view value) {
    url_.has_fragment = !value.empty();
    if (value.starts_with('#')) value.remove_prefix(1);
    std::string storage;
    AppendEncoded(RemoveTabsAndNewlines(value, &storage), kFragment, &text_);
    url_.fragment = text_;
    return true;
  }

  Parts& url_;
  const DomainToAscii to_ascii_;
  std::string text_;
};

}  // namespace

bool Set(std::string_view href, Attribute which, std::string_view value, DomainToAscii to_ascii,
         Url* out) {
  if (which == Attribute::kHref) return Parse(value, nullptr, to_ascii, out);
  Parts parts = Split(href);
  Setter setter(&parts, to_ascii);
  if (!setter.Run(which, value)) return false;
  Serialize(parts, out);
  return true;
}

}  // namespace edge::url
