#include "value.h"

#include <string>

namespace edge {

bool IsASCII(const uint8_t* p, size_t n) {
  uint64_t acc = 0;
  while (n >= 8) {
    uint64_t w;
    memcpy(&w, p, 8);
    acc |= w;
    p += 8;
    n -= 8;
  }
  for (; n > 0; n--) acc |= *p++;
  return (acc & 0x8080808080808080ull) == 0;
}

ByteView::ByteView(v8::Local<v8::Value> v) {
  if (v->IsArrayBufferView()) {
    auto span = v.As<v8::ArrayBufferView>()->GetContents(
        v8::MemorySpan<uint8_t>(storage_, sizeof storage_));
    data = span.data();
    len = span.size();
    ok = true;
  } else if (v->IsArrayBuffer()) {
    auto ab = v.As<v8::ArrayBuffer>();
    data = static_cast<const uint8_t*>(ab->Data());
    len = ab->ByteLength();
    ok = true;
  }
}

namespace {

void EncodeString(v8::Isolate* iso, v8::Local<v8::String> s, Writer* out) {
  v8::String::ValueView view(iso, s);
  if (view.is_one_byte()) {
    out->U8(kLatin1);
    out->U32(view.length());
    out->Raw(view.data8(), view.length());
    return;
  }
  out->U8(kUTF16);
  out->U32(view.length());
  out->Raw(view.data16(), size_t{view.length()} * 2);
}

bool Refuse(v8::Isolate* iso, v8::Local<v8::Value> v) {
  auto type = v->TypeOf(iso);
  v8::String::Utf8Value name(iso, type);
  std::string msg = "a value of type " + std::string(*name, name.length()) +
                    " cannot be passed to the runtime";
  iso->ThrowException(v8::Exception::TypeError(
      v8::String::NewFromUtf8(iso, msg.c_str()).ToLocalChecked()));
  return false;
}

}  // namespace

bool Encode(v8::Isolate* iso, v8::Local<v8::Context> ctx,
            v8::Local<v8::Value> v, Writer* out, int depth) {
  if (v->IsString()) {
    EncodeString(iso, v.As<v8::String>(), out);
  } else if (v->IsInt32()) {
    out->U8(kInt32);
    out->U32(static_cast<uint32_t>(v.As<v8::Int32>()->Value()));
  } else if (v->IsUndefined()) {
    out->U8(kUndefined);
  } else if (v->IsNull()) {
    out->U8(kNull);
  } else if (v->IsTrue()) {
    out->U8(kTrue);
  } else if (v->IsFalse()) {
    out->U8(kFalse);
  } else if (v->IsNumber()) {
    out->U8(kFloat64);
    out->F64(v.As<v8::Number>()->Value());
  } else if (v->IsArrayBufferView() || v->IsArrayBuffer()) {
    ByteView bytes(v);
    out->U8(kBytes);
    out->U32(static_cast<uint32_t>(bytes.len));
    out->Raw(bytes.data, bytes.len);
  } else if (v->IsArray() && depth < 8) {
    auto list = v.As<v8::Array>();
    uint32_t n = list->Length();
    out->U8(kList);
    out->U32(n);
    for (uint32_t i = 0; i < n; i++) {
      v8::Local<v8::Value> e;
      if (!list->Get(ctx, i).ToLocal(&e)) return false;
      if (!Encode(iso, ctx, e, out, depth + 1)) return false;
    }
  } else {
    return Refuse(iso, v);
  }
  return true;
}

v8::MaybeLocal<v8::String> NewLatin1(v8::Isolate* iso, const uint8_t* p,
                                     size_t n) {
  if (n == 0) return v8::String::Empty(iso);
  v8::Local<v8::String> s;
  if (n > static_cast<size_t>(v8::String::kMaxLength) ||
      !v8::String::NewFromOneByte(iso, p, v8::NewStringType::kNormal,
                                  static_cast<int>(n))
           .ToLocal(&s)) {
    iso->ThrowException(v8::Exception::RangeError(
        v8::String::NewFromUtf8Literal(iso, "Invalid string length")));
    return {};
  }
  return s;
}

v8::MaybeLocal<v8::String> NewUTF8(v8::Isolate* iso, const uint8_t* p, size_t n) {
  if (IsASCII(p, n)) return NewLatin1(iso, p, n);
  v8::Local<v8::String> s;
  if (n > static_cast<size_t>(v8::String::kMaxLength) * 3 ||
      !v8::String::NewFromUtf8(iso, reinterpret_cast<const char*>(p),
                               v8::NewStringType::kNormal, static_cast<int>(n))
           .ToLocal(&s)) {
    iso->ThrowException(v8::Exception::RangeError(
        v8::String::NewFromUtf8Literal(iso, "Invalid string length")));
    return {};
  }
  return s;
}

v8::MaybeLocal<v8::Uint8Array> NewBytes(v8::Isolate* iso, const uint8_t* p,
                                        size_t n) {
  auto store = v8::ArrayBuffer::NewBackingStore(
      iso, n, v8::BackingStoreInitializationMode::kUninitialized,
      v8::BackingStoreOnFailureMode::kReturnNull);
  if (!store) {
    iso->ThrowException(v8::Exception::RangeError(
        v8::String::NewFromUtf8Literal(iso, "Array buffer allocation failed")));
    return {};
  }
  if (n > 0) memcpy(store->Data(), p, n);
  auto ab = v8::ArrayBuffer::New(
      iso, std::shared_ptr<v8::BackingStore>(std::move(store)));
  return v8::Uint8Array::New(ab, 0, n);
}

v8::MaybeLocal<v8::Value> Decode(v8::Isolate* iso, v8::Local<v8::Context> ctx,
                                 Reader* in) {
  uint8_t tag = in->U8();
  switch (tag) {
    case kNull:
      return v8::Null(iso);
    case kFalse:
      return v8::False(iso);
    case kTrue:
      return v8::True(iso);
    case kInt32:
      return v8::Integer::New(iso, static_cast<int32_t>(in->U32()));
    case kFloat64:
      return v8::Number::New(iso, in->F64());
    case kLatin1: {
      uint32_t n = in->U32();
      auto p = in->Take(n);
      return NewLatin1(iso, p, p ? n : 0);
    }
    case kUTF16: {
      uint32_t n = in->U32();
      auto p = in->Take(size_t{n} * 2);
      std::vector<uint16_t> units(p ? n : 0);  // the wire is unaligned
      if (p) memcpy(units.data(), p, size_t{n} * 2);
      v8::Local<v8::String> s;
      if (!v8::String::NewFromTwoByte(iso, units.data(), v8::NewStringType::kNormal,
                                      static_cast<int>(units.size()))
               .ToLocal(&s))
        return {};
      return s;
    }
    case kUTF8: {
      uint32_t n = in->U32();
      auto p = in->Take(n);
      return NewUTF8(iso, p, p ? n : 0);
    }
    case kBytes: {
      uint32_t n = in->U32();
      auto p = in->Take(n);
      return NewBytes(iso, p, p ? n : 0);
    }
    case kList: {
      uint32_t n = in->U32();
      auto list = v8::Array::New(iso);
      for (uint32_t i = 0; i < n && !in->done(); i++) {
        v8::Local<v8::Value> e;
        if (!Decode(iso, ctx, in).ToLocal(&e)) return {};
        if (list->CreateDataProperty(ctx, i, e).IsNothing()) return {};
      }
      return list;
    }
    case kJSON: {
      uint32_t n = in->U32();
      auto p = in->Take(n);
      v8::Local<v8::String> s;
      if (!NewUTF8(iso, p, p ? n : 0).ToLocal(&s)) return {};
      return v8::JSON::Parse(ctx, s);
    }
    case kWasm: {
      uint32_t n = in->U32();
      auto p = in->Take(n);
      v8::Local<v8::WasmModuleObject> m;
      if (!v8::WasmModuleObject::Compile(iso, {p, p ? n : 0}).ToLocal(&m))
        return {};
      return m;
    }
    default:
      return v8::Undefined(iso);
  }
}

void AppendUTF8(v8::Isolate* iso, v8::Local<v8::String> s,
                std::vector<char>* out) {
  v8::String::ValueView view(iso, s);
  size_t n = view.length();
  if (view.is_one_byte()) {
    auto p = view.data8();
    if (IsASCII(p, n)) {
      out->insert(out->end(), p, p + n);
      return;
    }
    out->reserve(out->size() + n * 2);
    for (size_t i = 0; i < n; i++) {
      if (p[i] < 0x80) {
        out->push_back(static_cast<char>(p[i]));
      } else {
        out->push_back(static_cast<char>(0xC0 | (p[i] >> 6)));
        out->push_back(static_cast<char>(0x80 | (p[i] & 0x3F)));
      }
    }
    return;
  }
  auto p = view.data16();
  out->reserve(out->size() + n * 3);
  for (size_t i = 0; i < n; i++) {
    uint32_t c = p[i];
    if (c >= 0xD800 && c <= 0xDFFF) {
      if (c <= 0xDBFF && i + 1 < n && p[i + 1] >= 0xDC00 && p[i + 1] <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (p[++i] - 0xDC00);
      } else {
        c = 0xFFFD;
      }
    }
    if (c < 0x80) {
      out->push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out->push_back(static_cast<char>(0xC0 | (c >> 6)));
      out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
      out->push_back(static_cast<char>(0xE0 | (c >> 12)));
      out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
      out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else {
      out->push_back(static_cast<char>(0xF0 | (c >> 18)));
      out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
      out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
      out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
    }
  }
}

}  // namespace edge
