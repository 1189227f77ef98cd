// structuredClone over V8's serializer.
// https://html.spec.whatwg.org/multipage/structured-data.html
#include "instance.h"

namespace edge {
namespace {

using Info = v8::FunctionCallbackInfo<v8::Value>;

// Calls back into structured_clone.js for objects of the platform: write(obj)
// gives a plain value or undefined, read(plain) makes the object again. Both run
// while the value is written, since V8 forbids JavaScript while it reads.
class Hooks {
 public:
  Hooks(v8::Isolate* iso, v8::Local<v8::Context> ctx, v8::Local<v8::Value> hooks)
      : iso_(iso), ctx_(ctx) {
    if (!hooks->IsObject()) return;
    v8::Local<v8::Value> fn;
    auto obj = hooks.As<v8::Object>();
    if (obj->Get(ctx, Str(iso, "write")).ToLocal(&fn) && fn->IsFunction())
      write_ = fn.As<v8::Function>();
    if (obj->Get(ctx, Str(iso, "read")).ToLocal(&fn) && fn->IsFunction())
      read_ = fn.As<v8::Function>();
    plain_ = v8::Object::New(iso)->GetPrototypeV2();
  }
  // Instances of classes only: a plain object is never one of the platform's.
  bool MayBeHost(v8::Local<v8::Object> obj) const {
    if (write_.IsEmpty()) return false;
    auto proto = obj->GetPrototypeV2();
    return !proto->IsNull() && !proto->StrictEquals(plain_);
  }
  v8::MaybeLocal<v8::Value> Write(v8::Local<v8::Object> obj) const {
    v8::Local<v8::Value> argv[] = {obj};
    return write_->Call(ctx_, v8::Undefined(iso_), 1, argv);
  }
  v8::MaybeLocal<v8::Value> Read(v8::Local<v8::Value> plain) const {
    v8::Local<v8::Value> argv[] = {plain};
    return read_->Call(ctx_, v8::Undefined(iso_), 1, argv);
  }
  v8::Isolate* isolate() const { return iso_; }
  v8::Local<v8::Context> context() const { return ctx_; }

 private:
  v8::Isolate* iso_;
  v8::Local<v8::Context> ctx_;
  v8::Local<v8::Function> write_, read_;
  v8::Local<v8::Value> plain_;
};

void ThrowClone(v8::Isolate* iso, v8::Local<v8::Context> ctx, v8::Local<v8::String> message) {
  auto inst = edge_instance::Of(iso);
  v8::Local<v8::Value> err;
  if (inst != nullptr && !inst->dom_exception.IsEmpty()) {
    v8::Local<v8::Value> argv[] = {message, Str(iso, "DataCloneError")};
    if (!inst->dom_exception.Get(iso)->Call(ctx, v8::Undefined(iso), 2, argv).ToLocal(&err)) return;
  } else {
    err = v8::Exception::Error(message);
  }
  iso->ThrowException(err);
}

class Serializing final : public v8::ValueSerializer::Delegate {
 public:
  explicit Serializing(const Hooks& hooks) : hooks_(hooks) {}
  void Attach(v8::ValueSerializer* s) { serializer_ = s; }

  void ThrowDataCloneError(v8::Local<v8::String> message) override {
    ThrowClone(hooks_.isolate(), hooks_.context(), message);
  }
  bool HasCustomHostObject(v8::Isolate*) override { return true; }
  v8::Maybe<bool> IsHostObject(v8::Isolate*, v8::Local<v8::Object> obj) override {
    if (!hooks_.MayBeHost(obj)) return v8::Just(false);
    v8::Local<v8::Value> plain;
    if (!hooks_.Write(obj).ToLocal(&plain)) return v8::Nothing<bool>();
    if (plain->IsUndefined()) return v8::Just(false);
    v8::Local<v8::Value> made;
    if (!hooks_.Read(plain).ToLocal(&made)) return v8::Nothing<bool>();
    if (!made->IsObject()) {
      ThrowDataCloneError(Str(hooks_.isolate(), "An object could not be cloned."));
      return v8::Nothing<bool>();
    }
    made_.Reset(hooks_.isolate(), made.As<v8::Object>());
    return v8::Just(true);
  }
  v8::Maybe<bool> WriteHostObject(v8::Isolate*, v8::Local<v8::Object>) override {
    serializer_->WriteUint32(static_cast<uint32_t>(objects.size()));
    objects.push_back(std::move(made_));
    return v8::Just(true);
  }
  v8::Maybe<uint32_t> GetSharedArrayBufferId(v8::Isolate* iso,
                                             v8::Local<v8::SharedArrayBuffer>) override {
    ThrowDataCloneError(Str(iso, "A SharedArrayBuffer could not be cloned."));
    return v8::Nothing<uint32_t>();
  }
  v8::Maybe<uint32_t> GetWasmModuleTransferId(v8::Isolate*,
                                              v8::Local<v8::WasmModuleObject> m) override {
    modules.push_back(m->GetCompiledModule());
    return v8::Just(static_cast<uint32_t>(modules.size() - 1));
  }

  std::vector<v8::CompiledWasmModule> modules;
  // The clones of host objects. Global: V8 opens handle scopes of its own.
  std::vector<v8::Global<v8::Object>> objects;

 private:
  const Hooks& hooks_;
  v8::ValueSerializer* serializer_ = nullptr;
  v8::Global<v8::Object> made_;
};

class Deserializing final : public v8::ValueDeserializer::Delegate {
 public:
  explicit Deserializing(const Serializing& written) : written_(written) {}
  void Attach(v8::ValueDeserializer* d) { deserializer_ = d; }

  v8::MaybeLocal<v8::Object> ReadHostObject(v8::Isolate* iso) override {
    uint32_t i = 0;
    if (!deserializer_->ReadUint32(&i) || i >= written_.objects.size()) return {};
    return written_.objects[i].Get(iso);
  }
  v8::MaybeLocal<v8::WasmModuleObject> GetWasmModuleFromId(v8::Isolate* iso,
                                                           uint32_t id) override {
    if (id >= written_.modules.size()) return {};
    return v8::WasmModuleObject::FromCompiledModule(iso, written_.modules[id]);
  }

 private:
  const Serializing& written_;
  v8::ValueDeserializer* deserializer_ = nullptr;
};

// The buffers of the transfer list; false with an exception thrown.
bool TransferList(v8::Isolate* iso, v8::Local<v8::Context> ctx, v8::Local<v8::Value> v,
                  std::vector<v8::Local<v8::ArrayBuffer>>* out) {
  if (!v->IsArray()) return true;
  auto list = v.As<v8::Array>();
  for (uint32_t i = 0; i < list->Length(); i++) {
    v8::Local<v8::Value> e;
    if (!list->Get(ctx, i).ToLocal(&e)) return false;
    if (!e->IsArrayBuffer() || !e.As<v8::ArrayBuffer>()->IsDetachable() ||
        e.As<v8::ArrayBuffer>()->WasDetached()) {
      ThrowClone(iso, ctx, Str(iso, "A value in the transfer list could not be transferred."));
      return false;
    }
    out->push_back(e.As<v8::ArrayBuffer>());
  }
  return true;
}

// native_structured_clone(value, buffers to transfer, hooks)
void StructuredClone(const Info& info) {
  auto iso = info.GetIsolate();
  auto ctx = iso->GetCurrentContext();
  Hooks hooks(iso, ctx, info[2]);
  std::vector<v8::Local<v8::ArrayBuffer>> transfer;
  if (!TransferList(iso, ctx, info[1], &transfer)) return;
  Serializing delegate(hooks);
  v8::ValueSerializer serializer(iso, &delegate);
  delegate.Attach(&serializer);
  serializer.WriteHeader();
  for (uint32_t i = 0; i < transfer.size(); i++) serializer.TransferArrayBuffer(i, transfer[i]);
  bool ok = false;
  if (!serializer.WriteValue(ctx, info[0]).To(&ok) || !ok) return;
  auto data = serializer.Release();
  std::unique_ptr<uint8_t, decltype(&free)> owner(data.first, &free);
  Deserializing read(delegate);
  v8::ValueDeserializer deserializer(iso, data.first, data.second, &read);
  read.Attach(&deserializer);
  for (uint32_t i = 0; i < transfer.size(); i++) {
    auto store = transfer[i]->GetBackingStore();
    if (transfer[i]->Detach(v8::Local<v8::Value>()).IsNothing()) return;
    deserializer.TransferArrayBuffer(i, v8::ArrayBuffer::New(iso, store));
  }
  v8::Local<v8::Value> v;
  if (deserializer.ReadHeader(ctx).IsJust() && deserializer.ReadValue(ctx).ToLocal(&v))
    info.GetReturnValue().Set(v);
}

}  // namespace

const Native kCloneNatives[] = {
    {"native_structured_clone", StructuredClone},
    {nullptr, nullptr},
};

}  // namespace edge
