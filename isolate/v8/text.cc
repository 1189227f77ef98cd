// Natives for text: UTF-8, Latin-1, base64, random bytes.
#include <errno.h>
#include <sys/random.h>

#include "instance.h"

namespace edge {
namespace {

using Info = v8::FunctionCallbackInfo<v8::Value>;

bool WantString(const Info& info, int i, const char* fn) {
  if (info[i]->IsString()) return true;
  ThrowTypeError(info.GetIsolate(), std::string(fn) + " wants a string");
  return false;
}

void ReturnBytes(const Info& info, const uint8_t* p, size_t n) {
  v8::Local<v8::Uint8Array> a;
  if (NewBytes(info.GetIsolate(), p, n).ToLocal(&a)) info.GetReturnValue().Set(a);
}

void Utf8Encode(const Info& info) {
  if (!WantString(info, 0, "native_utf8_encode")) return;
  auto iso = info.GetIsolate();
  auto s = info[0].As<v8::String>();
  // Short ASCII is copied to the stack first: a view forbids the allocation of
  // the result, which may collect garbage.
  uint8_t small[2048];
  size_t n = 0;
  bool fits = false;
  if (static_cast<size_t>(s->Length()) <= sizeof small) {
    v8::String::ValueView view(iso, s);
    n = view.length();
    fits = view.is_one_byte() && IsASCII(view.data8(), n);
    if (fits) memcpy(small, view.data8(), n);
  }
  if (fits) {
    ReturnBytes(info, small, n);
    return;
  }
  std::vector<char> out;
  AppendUTF8(iso, s, &out);
  ReturnBytes(info, reinterpret_cast<const uint8_t*>(out.data()), out.size());
}

// The memory of a Uint8Array that is written in place; null when it is none.
uint8_t* Writable(v8::Local<v8::Value> v, size_t* n) {
  if (!v->IsArrayBufferView()) return nullptr;
  auto view = v.As<v8::ArrayBufferView>();
  auto buffer = view->Buffer();
  if (buffer->Data() == nullptr) {
    *n = 0;
    return nullptr;
  }
  *n = view->ByteLength();
  return static_cast<uint8_t*>(buffer->Data()) + view->ByteOffset();
}

// https://encoding.spec.whatwg.org/#dom-textencoder-encodeinto
void Utf8EncodeInto(const Info& info) {
  if (!WantString(info, 0, "native_utf8_encode_into")) return;
  size_t cap = 0, counts_len = 0;
  uint8_t* dst = Writable(info[1], &cap);
  auto counts = reinterpret_cast<uint32_t*>(Writable(info[2], &counts_len));
  if (counts == nullptr || counts_len < 8) {
    ThrowTypeError(info.GetIsolate(), "native_utf8_encode_into wants a Uint32Array(2)");
    return;
  }
  size_t read = 0, written = 0;
  v8::String::ValueView view(info.GetIsolate(), info[0].As<v8::String>());
  size_t n = view.length();
  while (read < n && dst != nullptr) {
    uint32_t c = view.is_one_byte() ? view.data8()[read] : view.data16()[read];
    size_t units = 1;
    if (c >= 0xD800 && c <= 0xDFFF) {
      uint32_t low = read + 1 < n ? view.data16()[read + 1] : 0;
      if (c <= 0xDBFF && low >= 0xDC00 && low <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        units = 2;
      } else {
        c = 0xFFFD;
      }
    }
    size_t need = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (written + need > cap) break;
    uint8_t* p = dst + written;
    if (need == 1) {
      p[0] = static_cast<uint8_t>(c);
    } else {
      static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
      for (size_t i = need - 1; i > 0; i--, c >>= 6) p[i] = static_cast<uint8_t>(0x80 | (c & 0x3F));
      p[0] = static_cast<uint8_t>(lead[need] | c);
    }
    written += need;
    read += units;
  }
  counts[0] = static_cast<uint32_t>(read);
  counts[1] = static_cast<uint32_t>(written);
}

// The length of the well-formed UTF-8 that p begins with.
size_t ValidUTF8(const uint8_t* p, size_t n) {
  size_t i = 0;
  while (i < n) {
    if (p[i] < 0x80) {
      i++;
      continue;
    }
    uint8_t c = p[i];
    size_t need = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
    if (need == 0 || i + need >= n) return i;
    uint8_t lo = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    uint8_t hi = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (p[i + 1] < lo || p[i + 1] > hi) return i;
    for (size_t k = 2; k <= need; k++) {
      if (p[i + k] < 0x80 || p[i + k] > 0xBF) return i;
    }
    i += need + 1;
  }
  return n;
}

void Utf8Decode(const Info& info) {
  auto iso = info.GetIsolate();
  ByteView bytes(info[0]);
  if (!bytes.ok) {
    ThrowTypeError(iso, "native_utf8_decode wants a buffer");
    return;
  }
  auto p = bytes.data;
  size_t n = bytes.len;
  bool fatal = info[1]->IsTrue(), keep_bom = info[2]->IsTrue();
  if (fatal && ValidUTF8(p, n) != n) {
    ThrowTypeError(iso, "The encoded data was not valid for encoding utf-8");
    return;
  }
  if (!keep_bom && n >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) {
    p += 3;
    n -= 3;
  }
  v8::Local<v8::String> s;
  if (NewUTF8(iso, p, n).ToLocal(&s)) info.GetReturnValue().Set(s);
}

void Utf8Length(const Info& info) {
  if (!WantString(info, 0, "native_utf8_length")) return;
  info.GetReturnValue().Set(
      static_cast<double>(info[0].As<v8::String>()->Utf8LengthV2(info.GetIsolate())));
}

void Latin1Decode(const Info& info) {
  ByteView bytes(info[0]);
  v8::Local<v8::String> s;
  if (!bytes.ok) {
    ThrowTypeError(info.GetIsolate(), "native_latin1_decode wants a buffer");
  } else if (NewLatin1(info.GetIsolate(), bytes.data, bytes.len).ToLocal(&s)) {
    info.GetReturnValue().Set(s);
  }
}

void Latin1Encode(const Info& info) {
  if (!WantString(info, 0, "native_latin1_encode")) return;
  auto s = info[0].As<v8::String>();
  std::vector<uint8_t> out(static_cast<size_t>(s->Length()));
  s->WriteOneByteV2(info.GetIsolate(), 0, static_cast<uint32_t>(out.size()), out.data());
  ReturnBytes(info, out.data(), out.size());
}

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void Base64Encode(const Info& info) {
  auto iso = info.GetIsolate();
  ByteView bytes(info[0]);
  if (!bytes.ok) {
    ThrowTypeError(iso, "native_base64_encode wants a buffer");
    return;
  }
  std::vector<uint8_t> out;
  out.reserve((bytes.len + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.len; i += 3) {
    size_t left = bytes.len - i;
    uint32_t w = static_cast<uint32_t>(bytes.data[i]) << 16;
    if (left > 1) w |= static_cast<uint32_t>(bytes.data[i + 1]) << 8;
    if (left > 2) w |= bytes.data[i + 2];
    out.push_back(static_cast<uint8_t>(kAlphabet[w >> 18]));
    out.push_back(static_cast<uint8_t>(kAlphabet[(w >> 12) & 63]));
    out.push_back(static_cast<uint8_t>(left > 1 ? kAlphabet[(w >> 6) & 63] : '='));
    out.push_back(static_cast<uint8_t>(left > 2 ? kAlphabet[w & 63] : '='));
  }
  v8::Local<v8::String> s;
  if (NewLatin1(iso, out.data(), out.size()).ToLocal(&s)) info.GetReturnValue().Set(s);
}

// https://infra.spec.whatwg.org/#forgiving-base64-decode
bool ForgivingDecode(const v8::String::ValueView& view, std::vector<uint8_t>* out) {
  std::vector<uint8_t> in;
  in.reserve(view.length());
  for (uint32_t i = 0; i < view.length(); i++) {
    uint16_t c = view.is_one_byte() ? view.data8()[i] : view.data16()[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r') continue;
    if (c > 127) return false;
    in.push_back(static_cast<uint8_t>(c));
  }
  if (in.size() % 4 == 0) {
    for (int i = 0; i < 2 && !in.empty() && in.back() == '='; i++) in.pop_back();
  }
  if (in.size() % 4 == 1) return false;
  static const std::vector<int8_t> table = [] {
    std::vector<int8_t> t(256, -1);
    for (int i = 0; i < 64; i++) t[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
    return t;
  }();
  uint32_t acc = 0;
  int bits = 0;
  out->reserve(in.size() / 4 * 3 + 3);
  for (uint8_t c : in) {
    if (table[c] < 0) return false;
    acc = acc << 6 | static_cast<uint32_t>(table[c]);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out->push_back(static_cast<uint8_t>(acc >> bits));
    }
  }
  return true;
}

void Base64DecodeForgiving(const Info& info) {
  if (!WantString(info, 0, "native_base64_decode_forgiving")) return;
  auto iso = info.GetIsolate();
  std::vector<uint8_t> out;
  bool ok;
  {
    v8::String::ValueView view(iso, info[0].As<v8::String>());
    ok = ForgivingDecode(view, &out);
  }
  v8::Local<v8::String> s;
  if (!ok) {
    info.GetReturnValue().SetNull();
  } else if (NewLatin1(iso, out.data(), out.size()).ToLocal(&s)) {
    info.GetReturnValue().Set(s);
  }
}

void RandomBytes(const Info& info) {
  size_t n = 0;
  uint8_t* p = Writable(info[0], &n);
  while (n > 0 && p != nullptr) {
    ssize_t got = getrandom(p, n, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      ThrowTypeError(info.GetIsolate(), "the system's random source failed");
      return;
    }
    p += got;
    n -= static_cast<size_t>(got);
  }
}

}  // namespace

const Native kTextNatives[] = {
    {"native_utf8_encode", Utf8Encode},
    {"native_utf8_encode_into", Utf8EncodeInto},
    {"native_utf8_decode", Utf8Decode},
    {"native_utf8_length", Utf8Length},
    {"native_latin1_decode", Latin1Decode},
    {"native_latin1_encode", Latin1Encode},
    {"native_base64_encode", Base64Encode},
    {"native_base64_decode_forgiving", Base64DecodeForgiving},
    {"native_random_bytes", RandomBytes},
    {nullptr, nullptr},
};

}  // namespace edge
