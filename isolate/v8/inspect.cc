// Natives that let console.log see into values without running user code.
#include "instance.h"

namespace edge {
namespace {

using Info = v8::FunctionCallbackInfo<v8::Value>;

// [state, value]: 0 pending, 1 fulfilled, 2 rejected.
void PromiseState(const Info& info) {
  if (!info[0]->IsPromise()) return;
  auto iso = info.GetIsolate();
  auto p = info[0].As<v8::Promise>();
  v8::Local<v8::Value> pair[] = {
      v8::Integer::New(iso, p->State()),
      p->State() == v8::Promise::kPending ? v8::Local<v8::Value>(v8::Undefined(iso)) : p->Result()};
  info.GetReturnValue().Set(v8::Array::New(iso, pair, 2));
}

void ProxyTarget(const Info& info) {
  if (!info[0]->IsProxy()) return;
  auto p = info[0].As<v8::Proxy>();
  v8::Local<v8::Value> pair[] = {p->GetTarget(), p->GetHandler()};
  info.GetReturnValue().Set(v8::Array::New(info.GetIsolate(), pair, 2));
}

// [entries, whether they are key-value pairs] of a Map, Set or their iterators.
void PreviewEntries(const Info& info) {
  if (!info[0]->IsObject()) return;
  auto iso = info.GetIsolate();
  bool pairs = false;
  v8::Local<v8::Array> entries;
  if (!info[0].As<v8::Object>()->PreviewEntries(&pairs).ToLocal(&entries)) return;
  v8::Local<v8::Value> result[] = {entries, v8::Boolean::New(iso, pairs)};
  info.GetReturnValue().Set(v8::Array::New(iso, result, 2));
}

void ClassName(const Info& info) {
  if (info[0]->IsObject()) info.GetReturnValue().Set(info[0].As<v8::Object>()->GetConstructorName());
}

}  // namespace

const Native kInspectNatives[] = {
    {"native_promise_state", PromiseState},
    {"native_proxy_target", ProxyTarget},
    {"native_preview_entries", PreviewEntries},
    {"native_class_name", ClassName},
    {nullptr, nullptr},
};

}  // namespace edge
