// URL records, their serialization and the small algorithms that parser and
// setters share.
#include "url.h"

#include <algorithm>

#include "url_internal.h"

namespace edge::url {

void AppendEncoded(std::string_view in, EncodeSet set, std::string* out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  size_t clean = 0;
  for (size_t i = 0; i < in.size(); i++) {
    const auto c = static_cast<uint8_t>(in[i]);
    if (!(kEncodeTable[c] & set)) continue;
    out->append(in, clean, i - clean);
    const char encoded[3] = {'%', kHex[c >> 4], kHex[c & 15]};
    out->append(encoded, 3);
    clean = i + 1;
  }
  out->append(in, clean, in.size() - clean);
}

void AppendDecoded(std::string_view in, std::string* out) {
  for (size_t i = 0; i < in.size(); i++) {
    if (in[i] == '%' && i + 2 < in.size()) {
      const int high = HexValue(in[i + 1]);
      const int low = HexValue(in[i + 2]);
      if (high >= 0 && low >= 0) {
        out->push_back(static_cast<char>(high << 4 | low));
        i += 2;
        continue;
      }
    }
    out->push_back(in[i]);
  }
}

std::string_view RemoveTabsAndNewlines(std::string_view in, std::string* storage) {
  static constexpr std::string_view kRemoved("\t\n\r", 3);
  size_t at = in.find_first_of(kRemoved);
  if (at == std::string_view::npos) return in;
  storage->clear();
  storage->reserve(in.size());
  size_t clean = 0;
  for (; at != std::string_view::npos; at = in.find_first_of(kRemoved, clean)) {
    storage->append(in, clean, at - clean);
    clean = at + 1;
  }
  storage->append(in, clean);
  return *storage;
}

size_t SchemeLength(std::string_view in) {
  if (in.empty() || !IsAlpha(in[0])) return 0;
  size_t n = 1;
  while (n < in.size() && (IsAlpha(in[n]) || IsDigit(in[n]) || Contains("+-.", in[n]))) n++;
  return n == in.size() || in[n] == ':' ? n : 0;
}

SchemeType TypeOf(std::string_view scheme) {
  switch (scheme.size()) {
    case 2:
      if (scheme == "ws") return SchemeType::kWs;
      break;
    case 3:
      if (scheme == "wss") return SchemeType::kWss;
      if (scheme == "ftp") return SchemeType::kFtp;
      break;
    case 4:
      if (scheme == "http") return SchemeType::kHttp;
      if (scheme == "file") return SchemeType::kFile;
      break;
    case 5:
      if (scheme == "https") return SchemeType::kHttps;
      break;
  }
  return SchemeType::kNotSpecial;
}

uint32_t DefaultPort(SchemeType type) {
  switch (type) {
    case SchemeType::kHttp:
    case SchemeType::kWs:
      return 80;
    case SchemeType::kHttps:
    case SchemeType::kWss:
      return 443;
    case SchemeType::kFtp:
      return 21;
    case SchemeType::kFile:
    case SchemeType::kNotSpecial:
      break;
  }
  return kOmitted;
}

bool ReadPort(std::string_view in, SchemeType type, size_t* digits, uint32_t* port) {
  uint32_t value = 0;
  size_t n = 0;
  for (; n < in.size() && IsDigit(in[n]); n++) {
    value = value * 10 + static_cast<uint32_t>(in[n] - '0');
    if (value > 0xffff) return false;
  }
  *digits = n;
  *port = value == DefaultPort(type) ? kOmitted : value;
  return true;
}

// Splits `authority`, which lies between "//" and the path.
static void SplitAuthority(std::string_view authority, Parts* parts) {
  const size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view credentials = authority.substr(0, at);
    const size_t colon = credentials.find(':');
    parts->username = credentials.substr(0, colon);
    if (colon != std::string_view::npos) parts->password = credentials.substr(colon + 1);
    authority.remove_prefix(at + 1);
  }
  // The colons of an IPv6 address end with its bracket.
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  parts->host = authority.substr(0, colon);
  if (colon == std::string_view::npos) return;
  size_t digits = 0;
  ReadPort(authority.substr(colon + 1), parts->type, &digits, &parts->port);
}

Parts Split(std::string_view href) {
  Parts parts;
  const size_t colon = href.find(':');
  parts.scheme = href.substr(0, colon);
  parts.type = TypeOf(parts.scheme);
  if (colon == std::string_view::npos) return parts;
  std::string_view rest = href.substr(colon + 1);

  const size_t hash = rest.find('#');
  if (hash != std::string_view::npos) {
    parts.has_fragment = true;
    parts.fragment = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  }
  const size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    parts.has_query = true;
    parts.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (rest.starts_with("//")) {
    parts.has_host = true;
    rest.remove_prefix(2);
    const size_t end = std::min(rest.find('/'), rest.size());
    SplitAuthority(rest.substr(0, end), &parts);
    rest.remove_prefix(end);
  } else if (rest.starts_with("/.//")) {
    rest.remove_prefix(2);
  } else {
    parts.opaque_path = !rest.starts_with('/');
  }
  parts.path = rest;
  return parts;
}

void AppendAuthority(const Parts& parts, Url* out) {
  std::string& href = out->href;
  out->port = parts.port;
  if (!parts.has_host) {
    out->username_end = out->host_start = out->host_end = static_cast<uint32_t>(href.size());
    return;
  }
  href += "//";
  href += parts.username;
  out->username_end = static_cast<uint32_t>(href.size());
  if (!parts.password.empty()) {
    href += ':';
    href += parts.password;
  }
  out->host_start = static_cast<uint32_t>(href.size());
  if (parts.HasCredentials()) href += '@';
  href += parts.host;
  out->host_end = static_cast<uint32_t>(href.size());
  if (parts.port != kOmitted) {
    href += ':';
    href += std::to_string(parts.port);
  }
}

void Serialize(const Parts& parts, Url* out) {
  std::string& href = out->href;
  href.clear();
  href.reserve(parts.scheme.size() + parts.username.size() + parts.password.size() +
               parts.host.size() + parts.path.size() + parts.query.size() +
               parts.fragment.size() + 16);
  href += parts.scheme;
  href += ':';
  out->scheme_type = parts.type;
  out->protocol_end = static_cast<uint32_t>(href.size());
  AppendAuthority(parts, out);
  // Without this, a path that starts with an empty segment would be read as a
  // host the next time.
  if (!parts.has_host && parts.path.starts_with("//")) href += "/.";
  out->pathname_start = static_cast<uint32_t>(href.size());
  href += parts.path;
  out->search_start = out->hash_start = kOmitted;
  if (parts.has_query) {
    out->search_start = static_cast<uint32_t>(href.size());
    href += '?';
    href += parts.query;
  }
  if (parts.has_fragment) {
    out->hash_start = static_cast<uint32_t>(href.size());
    href += '#';
    href += parts.fragment;
  }
}

}  // namespace edge::url
