// Encodes and decodes the values of isolate/op across the boundary.
#ifndef EDGE_VALUE_H_
#define EDGE_VALUE_H_
#include <cstdint>
#include <cstring>
#include <vector>

#include "v8.h"

namespace edge {

// The tags of op.Kind.
enum Tag : uint8_t {
  kUndefined,
  kNull,
  kFalse,
  kTrue,
  kInt32,
  kFloat64,
  kLatin1,
  kUTF16,
  kUTF8,
  kBytes,
  kList,
  kJSON,
  kWasm,
};

// Marks a Maybe whose failure is a JavaScript exception that the caller's
// TryCatch holds, or that has nobody to be reported to.
template <class T>
void Ignore(const T&) {}

// A growing byte buffer. Owned by one instance; its thread only.
class Writer {
 public:
  void Clear() {
    if (buf_.capacity() > (1u << 20)) std::vector<uint8_t>().swap(buf_);
    buf_.clear();
  }
  size_t size() const { return buf_.size(); }
  const uint8_t* data() const { return buf_.data(); }
  void Truncate(size_t n) { buf_.resize(n); }
  void U8(uint8_t v) { buf_.push_back(v); }
  void U16(uint16_t v) { Raw(&v, sizeof v); }
  void U32(uint32_t v) { Raw(&v, sizeof v); }
  void F64(double v) { Raw(&v, sizeof v); }
  void Raw(const void* p, size_t n) {
    auto b = static_cast<const uint8_t*>(p);
    buf_.insert(buf_.end(), b, b + n);
  }
  // Overwrites four bytes at `at`.
  void Patch32(size_t at, uint32_t v) { memcpy(buf_.data() + at, &v, sizeof v); }
  // Appends n bytes and returns where they start, to be written before the next
  // call.
  uint8_t* Grow(size_t n) {
    size_t at = buf_.size();
    buf_.resize(at + n);
    return buf_.data() + at;
  }

 private:
  std::vector<uint8_t> buf_;
};

// Reads what Go encoded. Go and this file are one build, so a malformed batch is
// a bug: the reader stops at its end and yields undefined.
class Reader {
 public:
  Reader(const uint8_t* p, size_t n) : p_(p), end_(p + n) {}
  bool done() const { return p_ >= end_; }
  uint8_t U8() { return Load<uint8_t>(); }
  uint16_t U16() { return Load<uint16_t>(); }
  uint32_t U32() { return Load<uint32_t>(); }
  double F64() { return Load<double>(); }
  const uint8_t* Take(size_t n) {
    if (static_cast<size_t>(end_ - p_) < n) {
      p_ = end_;
      return nullptr;
    }
    auto p = p_;
    p_ += n;
    return p;
  }

 private:
  template <class T>
  T Load() {
    T v{};
    if (auto p = Take(sizeof v)) memcpy(&v, p, sizeof v);
    return v;
  }
  const uint8_t* p_;
  const uint8_t* end_;
};

// The bytes of an ArrayBuffer or a view. `storage` keeps small on-heap arrays.
struct ByteView {
  explicit ByteView(v8::Local<v8::Value> v);
  const uint8_t* data = nullptr;
  size_t len = 0;
  bool ok = false;

 private:
  uint8_t storage_[128];
};

// Appends one value. False, with a TypeError thrown, for a value of a kind that
// does not cross. depth bounds nested arrays.
bool Encode(v8::Isolate* iso, v8::Local<v8::Context> ctx,
            v8::Local<v8::Value> v, Writer* out, int depth = 0);

// Reads one value. Empty, with an exception thrown, when the memory for it is
// refused or its JSON or Wasm does not parse.
v8::MaybeLocal<v8::Value> Decode(v8::Isolate* iso, v8::Local<v8::Context> ctx,
                                 Reader* in);

// A fresh Uint8Array with a copy of the bytes; a RangeError when the isolate's
// buffer limit refuses.
v8::MaybeLocal<v8::Uint8Array> NewBytes(v8::Isolate* iso, const uint8_t* p,
                                        size_t n);

// A string from UTF-8, Latin-1; empty with a RangeError thrown when too long.
v8::MaybeLocal<v8::String> NewUTF8(v8::Isolate* iso, const uint8_t* p, size_t n);
v8::MaybeLocal<v8::String> NewLatin1(v8::Isolate* iso, const uint8_t* p,
                                     size_t n);

// Appends s as UTF-8, lone surrogates as U+FFFD.
void AppendUTF8(v8::Isolate* iso, v8::Local<v8::String> s, std::vector<char>* out);

// Reports whether p holds no byte above 127.
bool IsASCII(const uint8_t* p, size_t n);

}  // namespace edge
#endif  // EDGE_VALUE_H_
