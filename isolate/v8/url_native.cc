// Natives for URLs: the glue between url.js and the parser.
#include <cstdlib>

#include "export.h"
#include "instance.h"
#include "url.h"

namespace edge {
namespace {

using Info = v8::FunctionCallbackInfo<v8::Value>;

bool ToAscii(const char* in, size_t len, std::string* out) {
  edge_text text{nullptr, 0};
  bool ok = edge_go_domain_to_ascii(const_cast<char*>(in), len, &text) != 0;
  out->assign(text.data ? text.data : "", text.len);
  free(text.data);
  return ok;
}

// Writes the offsets into the caller's Uint32Array(9) and returns the href.
void Return(const Info& info, int out_index, const url::Url& u) {
  auto iso = info.GetIsolate();
  if (!info[out_index]->IsUint32Array() || info[out_index].As<v8::Uint32Array>()->Length() < 9) {
    ThrowTypeError(iso, "the URL natives want a Uint32Array(9)");
    return;
  }
  auto view = info[out_index].As<v8::Uint32Array>();
  auto out = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(view->Buffer()->Data()) +
                                         view->ByteOffset());
  const uint32_t offsets[] = {u.protocol_end,   u.username_end, u.host_start,
                              u.host_end,       u.port,         u.pathname_start,
                              u.search_start,   u.hash_start,   static_cast<uint32_t>(u.scheme_type)};
  memcpy(out, offsets, sizeof offsets);
  v8::Local<v8::String> href;
  if (NewLatin1(iso, reinterpret_cast<const uint8_t*>(u.href.data()), u.href.size()).ToLocal(&href))
    info.GetReturnValue().Set(href);
}

// native_url_parse(input, base or undefined, offsets) -> href or undefined
void UrlParse(const Info& info) {
  auto iso = info.GetIsolate();
  std::string input = ToUTF8(iso, info[0]);
  url::Url u;
  bool ok;
  if (info[1]->IsString()) {
    std::string text = ToUTF8(iso, info[1]);
    std::string_view base(text);
    ok = url::Parse(input, &base, ToAscii, &u);
  } else {
    ok = url::Parse(input, nullptr, ToAscii, &u);
  }
  if (ok) Return(info, 2, u);
}

// native_url_set(href, attribute, value, offsets) -> href or undefined
void UrlSet(const Info& info) {
  auto iso = info.GetIsolate();
  std::string href = ToUTF8(iso, info[0]), value = ToUTF8(iso, info[2]);
  if (!info[1]->IsUint32() || info[1].As<v8::Uint32>()->Value() > 9) return;
  url::Url u;
  if (url::Set(href, static_cast<url::Attribute>(info[1].As<v8::Uint32>()->Value()), value, ToAscii,
               &u))
    Return(info, 3, u);
}

}  // namespace

const Native kUrlNatives[] = {
    {"native_url_parse", UrlParse},
    {"native_url_set", UrlSet},
    {nullptr, nullptr},
};

}  // namespace edge
