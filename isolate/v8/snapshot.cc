// The start-up snapshot: the web platform, evaluated once for all isolates.
#include <cstdlib>

#include "instance.h"

namespace edge {
namespace {

const Native* const kNatives[] = {kRuntimeNatives, kTextNatives, kCloneNatives, kInspectNatives,
                                  kUrlNatives};

void SetText(edge_text* out, const std::string& s) {
  out->data = static_cast<char*>(malloc(s.size() + 1));
  memcpy(out->data, s.data(), s.size());
  out->len = s.size();
}

std::string Describe(v8::Isolate* iso, v8::Local<v8::Context> ctx, v8::TryCatch& caught) {
  if (!caught.HasCaught()) return "unknown error";
  v8::Local<v8::Value> stack;
  if (caught.StackTrace(ctx).ToLocal(&stack) && stack->IsString() &&
      stack.As<v8::String>()->Length() > 0) {
    std::string s = ToUTF8(iso, stack);
    auto msg = caught.Message();
    if (s.find("\n") == std::string::npos && !msg.IsEmpty())
      s += " (" + ToUTF8(iso, msg->GetScriptResourceName()) + ":" +
           std::to_string(msg->GetLineNumber(ctx).FromMaybe(0)) + ")";
    return s;
  }
  v8::String::Utf8Value s(iso, caught.Exception());
  return *s ? std::string(*s, static_cast<size_t>(s.length())) : "unknown error";
}

// Modules of the runtime by specifier, while the snapshot is made.
std::unordered_map<std::string, v8::Global<v8::Module>>* g_modules = nullptr;

v8::MaybeLocal<v8::Module> Resolve(v8::Local<v8::Context> ctx, v8::Local<v8::String> specifier,
                                   v8::Local<v8::FixedArray>, v8::Local<v8::Module>) {
  auto iso = ctx->GetIsolate();
  std::string name = ToUTF8(iso, specifier);
  auto it = g_modules->find(name);
  if (it == g_modules->end()) {
    ThrowTypeError(iso, "no extension provides " + name);
    return {};
  }
  return it->second.Get(iso);
}

bool Compile(v8::Isolate* iso, const std::string& name, v8::Local<v8::String> text) {
  v8::ScriptOrigin origin(Str(iso, name.c_str()), 0, 0, false, -1, v8::Local<v8::Value>(), false,
                          false, true);
  v8::ScriptCompiler::Source src(text, origin);
  v8::Local<v8::Module> module;
  if (!v8::ScriptCompiler::CompileModule(iso, &src).ToLocal(&module)) return false;
  (*g_modules)[name].Reset(iso, module);
  return true;
}

// Makes "edge:ops": a module whose exports are the natives and the ops. Its
// functions pass through a global property that is gone afterwards.
bool CompileOps(v8::Isolate* iso, v8::Local<v8::Context> ctx, const edge_op* ops, size_t n) {
  auto table = v8::Object::New(iso);
  std::string source = "const t = globalThis.__edge_ops;\ndelete globalThis.__edge_ops;\n";
  auto add = [&](const std::string& name, v8::FunctionCallback cb, v8::Local<v8::Value> data) {
    v8::Local<v8::Function> fn;
    if (!v8::Function::New(ctx, cb, data, 0, v8::ConstructorBehavior::kThrow).ToLocal(&fn))
      return false;
    fn->SetName(Str(iso, name.c_str()));
    source += "export const " + name + " = t." + name + ";\n";
    return table->Set(ctx, Str(iso, name.c_str()), fn).IsJust();
  };
  for (auto list : kNatives) {
    for (; list->name != nullptr; list++) {
      if (!add(list->name, list->callback, v8::Undefined(iso))) return false;
    }
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t data = static_cast<uint32_t>(i) << 2 | static_cast<uint32_t>(ops[i].mode);
    if (!add(std::string(ops[i].name, ops[i].name_len), OpCallback,
             v8::Integer::NewFromUnsigned(iso, data)))
      return false;
  }
  return ctx->Global()->Set(ctx, Str(iso, "__edge_ops"), table).IsJust() &&
         Compile(iso, "edge:ops", Str(iso, source.c_str()));
}

bool Evaluate(v8::Isolate* iso, v8::Local<v8::Context> ctx, const std::string& name,
              std::string* why) {
  v8::TryCatch caught(iso);
  auto module = (*g_modules)[name].Get(iso);
  v8::Local<v8::Value> done;
  if (module->InstantiateModule(ctx, Resolve).IsNothing() ||
      !module->Evaluate(ctx).ToLocal(&done)) {
    *why = name + ": " + Describe(iso, ctx, caught);
    return false;
  }
  iso->PerformMicrotaskCheckpoint();
  auto promise = done.As<v8::Promise>();
  if (promise->State() == v8::Promise::kRejected) {
    auto reason = promise->Result();
    *why = name + ": ";
    v8::Local<v8::Value> stack;
    if (reason->IsObject() &&
        reason.As<v8::Object>()->Get(ctx, Str(iso, "stack")).ToLocal(&stack) && stack->IsString()) {
      *why += ToUTF8(iso, stack);
    } else {
      v8::String::Utf8Value s(iso, reason);
      *why += *s ? *s : "rejected";
    }
    return false;
  }
  if (promise->State() == v8::Promise::kPending) {
    *why = name + ": its top-level await never ends";
    return false;
  }
  return true;
}

bool Populate(v8::Isolate* iso, v8::Local<v8::Context> ctx, edge_snapshot* snapshot,
              const edge_extension* exts, size_t n_exts, const edge_op* ops, size_t n_ops,
              std::string* why) {
  v8::TryCatch caught(iso);
  if (!CompileOps(iso, ctx, ops, n_ops)) {
    *why = "edge:ops: " + Describe(iso, ctx, caught);
    return false;
  }
  for (size_t i = 0; i < n_exts; i++) {
    std::string name = "edge:" + std::string(exts[i].name, exts[i].name_len);
    v8::Local<v8::String> text;
    if (!v8::String::NewExternalOneByte(iso, snapshot->sources[i].get()).ToLocal(&text) ||
        !Compile(iso, name, text)) {
      auto msg = caught.Message();
      *why = name + ": " + Describe(iso, ctx, caught);
      if (!msg.IsEmpty()) *why += " at line " + std::to_string(msg->GetLineNumber(ctx).FromMaybe(0));
      return false;
    }
  }
  if (!Evaluate(iso, ctx, "edge:ops", why)) return false;
  for (size_t i = 0; i < n_exts; i++) {
    if (!Evaluate(iso, ctx, "edge:" + std::string(exts[i].name, exts[i].name_len), why))
      return false;
  }
  return true;
}

void Store(v8::SnapshotCreator* creator, v8::Isolate* iso, v8::Local<v8::Context> ctx,
           Building* b, edge_snapshot* s) {
  s->handlers = b->handler_names;
  s->builtins = b->builtin_names;
  for (auto& fn : b->handlers) creator->AddData(ctx, fn.Get(iso));
  if ((s->has_unhandled = !b->unhandled.IsEmpty())) creator->AddData(ctx, b->unhandled.Get(iso));
  if ((s->has_dom_exception = !b->dom_exception.IsEmpty()))
    creator->AddData(ctx, b->dom_exception.Get(iso));
  for (auto& obj : b->builtins) creator->AddData(ctx, obj.Get(iso));
}

}  // namespace

std::vector<intptr_t> CallbackReferences() {
  std::vector<intptr_t> refs{reinterpret_cast<intptr_t>(&OpCallback)};
  for (auto list : kNatives) {
    for (; list->name != nullptr; list++)
      refs.push_back(reinterpret_cast<intptr_t>(list->callback));
  }
  return refs;
}

}  // namespace edge

edge_snapshot* edge_snapshot_new(const edge_extension* exts, size_t n_exts, const edge_op* ops,
                                 size_t n_ops, edge_text* error) {
  using namespace edge;
  auto snapshot = std::make_unique<edge_snapshot>();
  std::string why;
  bool ok = false;
  Building b;
  std::unordered_map<std::string, v8::Global<v8::Module>> modules;
  v8::Isolate::CreateParams params;
  std::unique_ptr<v8::ArrayBuffer::Allocator> alloc(
      v8::ArrayBuffer::Allocator::NewDefaultAllocator());
  params.array_buffer_allocator = alloc.get();
  snapshot->references = CallbackReferences();
  for (size_t i = 0; i < n_exts; i++) {
    snapshot->sources.push_back(std::make_unique<SharedSource>(
        std::string(exts[i].source ? exts[i].source : "", exts[i].source_len)));
    snapshot->references.push_back(reinterpret_cast<intptr_t>(snapshot->sources.back().get()));
  }
  snapshot->references.push_back(0);
  params.external_references = snapshot->references.data();
  {
    v8::SnapshotCreator creator(params);
    auto iso = creator.GetIsolate();
    iso->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
    {
      v8::HandleScope handles(iso);
      auto ctx = v8::Context::New(iso);
      v8::Context::Scope context_scope(ctx);
      building = &b;
      g_modules = &modules;
      ok = Populate(iso, ctx, snapshot.get(), exts, n_exts, ops, n_ops, &why);
      building = nullptr;
      g_modules = nullptr;
      modules.clear();
      Store(&creator, iso, ctx, &b, snapshot.get());
      b.handlers.clear();
      b.builtins.clear();
      b.unhandled.Reset();
      b.dom_exception.Reset();
      creator.SetDefaultContext(ctx);
    }
    snapshot->blob = creator.CreateBlob(v8::SnapshotCreator::FunctionCodeHandling::kKeep);
  }
  if (ok && snapshot->blob.data == nullptr) {
    ok = false;
    why = "V8 could not serialise the heap";
  }
  if (!ok) {
    SetText(error, why);
    delete[] snapshot->blob.data;
    return nullptr;
  }
  return snapshot.release();
}

size_t edge_snapshot_bytes(const edge_snapshot* s) { return static_cast<size_t>(s->blob.raw_size); }

size_t edge_snapshot_handlers(const edge_snapshot* s) { return s->handlers.size(); }

const char* edge_snapshot_handler(const edge_snapshot* s, size_t i, size_t* len) {
  *len = s->handlers[i].size();
  return s->handlers[i].data();
}

void edge_snapshot_free(edge_snapshot* s) {
  delete[] s->blob.data;
  delete s;
}
