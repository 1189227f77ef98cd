// Calls from JavaScript into Go: ops, and the natives of the runtime itself.
#include "export.h"
#include "instance.h"

namespace edge {

Building* building = nullptr;

namespace {

using Info = v8::FunctionCallbackInfo<v8::Value>;

uint32_t CurrentInvocation(v8::Isolate* iso) {
  auto v = iso->GetContinuationPreservedEmbedderData();
  return v->IsUint32() ? v.As<v8::Uint32>()->Value() : 0;
}

// Errors of a Sync op: the four values that edge_isolate_sync_result was given.
void ThrowSyncError(edge_instance* inst, v8::Local<v8::Context> ctx) {
  auto iso = inst->iso;
  Reader in(inst->sync_result.data(), inst->sync_result.size());
  v8::Local<v8::Value> argv[4];
  for (auto& a : argv) {
    if (!Decode(iso, ctx, &in).ToLocal(&a)) return;
  }
  iso->ThrowException(MakeError(inst, ctx, argv));
}

void CallSync(const Info& info, edge_instance* inst, v8::Local<v8::Context> ctx, uint32_t op) {
  auto iso = info.GetIsolate();
  Writer args;
  int argc = info.Length();
  for (int i = 0; i < argc; i++) {
    if (!Encode(iso, ctx, info[i], &args)) return;
  }
  inst->sync_kind = 0;
  inst->sync_result.clear();
  edge_go_sync_op(inst->host, inst, op, CurrentInvocation(iso),
                  const_cast<uint8_t*>(args.data()), args.size(), static_cast<uint32_t>(argc));
  if (inst->sync_kind != 0) {
    ThrowSyncError(inst, ctx);
    return;
  }
  Reader in(inst->sync_result.data(), inst->sync_result.size());
  v8::Local<v8::Value> v;
  if (!inst->sync_result.empty() && Decode(iso, ctx, &in).ToLocal(&v)) info.GetReturnValue().Set(v);
}

uint32_t NewPromise(edge_instance* inst, v8::Local<v8::Promise::Resolver> resolver) {
  if (!inst->free_promises.empty()) {
    uint32_t id = inst->free_promises.back();
    inst->free_promises.pop_back();
    inst->promises[id - 1].Reset(inst->iso, resolver);
    return id;
  }
  inst->promises.emplace_back(inst->iso, resolver);
  return static_cast<uint32_t>(inst->promises.size());
}

void NativeInvocation(const Info& info) {
  info.GetReturnValue().Set(CurrentInvocation(info.GetIsolate()));
}

void NativeSetInvocation(const Info& info) {
  if (!info[0]->IsUint32()) return;
  info.GetIsolate()->SetContinuationPreservedEmbedderData(info[0]);
}

void NativeNow(const Info& info) {
  static const int64_t start = MonoNanos();
  // 0.1 ms: a finer clock lets one tenant time another's cache.
  info.GetReturnValue().Set(static_cast<double>((MonoNanos() - start) / 100000) / 10);
}

void NativeWall(const Info& info) {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  info.GetReturnValue().Set(static_cast<double>(int64_t{t.tv_sec} * 10000 + t.tv_nsec / 100000) / 10);
}

void NativeImportMain(const Info& info) {
  auto inst = edge_instance::Of(info.GetIsolate());
  if (inst == nullptr) return;
  v8::Local<v8::Promise> p;
  if (ImportMain(inst, info.GetIsolate()->GetCurrentContext()).ToLocal(&p))
    info.GetReturnValue().Set(p);
}

bool OnlyWhileBuilding(const Info& info, const char* name) {
  if (building != nullptr) return true;
  ThrowTypeError(info.GetIsolate(), std::string(name) + " is for the start-up snapshot only");
  return false;
}

void NativeOn(const Info& info) {
  auto iso = info.GetIsolate();
  if (!OnlyWhileBuilding(info, "native_on")) return;
  if (!info[0]->IsString() || !info[1]->IsFunction()) {
    ThrowTypeError(iso, "native_on wants a name and a function");
    return;
  }
  building->handler_names.push_back(ToUTF8(iso, info[0]));
  building->handlers.emplace_back(iso, info[1].As<v8::Function>());
}

void NativeBuiltin(const Info& info) {
  auto iso = info.GetIsolate();
  if (!OnlyWhileBuilding(info, "native_builtin")) return;
  if (!info[0]->IsString() || !info[1]->IsObject()) {
    ThrowTypeError(iso, "native_builtin wants a specifier and an object of exports");
    return;
  }
  building->builtin_names.push_back(ToUTF8(iso, info[0]));
  building->builtins.emplace_back(iso, info[1].As<v8::Object>());
}

void NativeUnhandled(const Info& info) {
  if (!OnlyWhileBuilding(info, "native_unhandled") || !info[0]->IsFunction()) return;
  building->unhandled.Reset(info.GetIsolate(), info[0].As<v8::Function>());
}

void NativeSetDOMException(const Info& info) {
  if (!OnlyWhileBuilding(info, "native_set_dom_exception") || !info[0]->IsFunction()) return;
  building->dom_exception.Reset(info.GetIsolate(), info[0].As<v8::Function>());
}

}  // namespace

// One callback serves all ops: its data is the number of the op and its mode.
void OpCallback(const Info& info) {
  auto iso = info.GetIsolate();
  auto inst = edge_instance::Of(iso);
  uint32_t data = info.Data().As<v8::Uint32>()->Value();
  uint32_t op = data >> 2, mode = data & 3;
  auto ctx = iso->GetCurrentContext();
  if (inst == nullptr) {  // the snapshot is being made
    v8::Local<v8::Promise::Resolver> resolver;
    if (mode == 1 && v8::Promise::Resolver::New(ctx).ToLocal(&resolver))
      info.GetReturnValue().Set(resolver->GetPromise());
    return;
  }
  if (mode == 2) {
    CallSync(info, inst, ctx, op);
    return;
  }
  v8::Local<v8::Promise::Resolver> resolver;
  if (mode == 1 && !v8::Promise::Resolver::New(ctx).ToLocal(&resolver)) return;
  size_t start = inst->out.size();
  int argc = info.Length();
  inst->out.U16(static_cast<uint16_t>(op));
  inst->out.U32(CurrentInvocation(iso));
  inst->out.U32(0);
  inst->out.U16(static_cast<uint16_t>(argc));
  inst->out.U32(0);
  size_t body = inst->out.size();
  for (int i = 0; i < argc; i++) {
    if (!Encode(iso, ctx, info[i], &inst->out)) {
      inst->out.Truncate(start);
      return;
    }
  }
  if (inst->out.size() > inst->out_limit) {
    inst->out.Truncate(start);
    iso->ThrowException(v8::Exception::RangeError(
        Str(iso, "too much output in one turn of the event loop: limits.memory bounds it")));
    return;
  }
  inst->out.Patch32(start + 12, static_cast<uint32_t>(inst->out.size() - body));
  if (mode == 1) {
    inst->out.Patch32(start + 6, NewPromise(inst, resolver));
    info.GetReturnValue().Set(resolver->GetPromise());
  }
}

const Native kRuntimeNatives[] = {
    {"native_on", NativeOn},
    {"native_builtin", NativeBuiltin},
    {"native_unhandled", NativeUnhandled},
    {"native_set_dom_exception", NativeSetDOMException},
    {"native_import_main", NativeImportMain},
    {"native_invocation", NativeInvocation},
    {"native_set_invocation", NativeSetInvocation},
    {"native_now", NativeNow},
    {"native_wall", NativeWall},
    {nullptr, nullptr},
};

}  // namespace edge
