// Programs and modules: compiling, resolving, importing, code caches.
#include <cstdlib>

#include "export.h"
#include "instance.h"

namespace edge {
namespace {

// isolate.ModuleType.
enum ModuleType : int32_t { kES, kJSONModule, kTextModule, kDataModule, kWasmModule };

LoadedModule* Find(edge_instance* inst, v8::Local<v8::Module> module, size_t* index = nullptr) {
  auto range = inst->module_by_hash.equal_range(module->GetIdentityHash());
  for (auto it = range.first; it != range.second; ++it) {
    auto& m = inst->modules[it->second];
    if (m.module == module) {
      if (index) *index = it->second;
      return &m;
    }
  }
  return nullptr;
}

void Remember(edge_instance* inst, const std::string& key, v8::Local<v8::Module> module) {
  size_t i = inst->modules.size();
  inst->modules.push_back({key, v8::Global<v8::Module>(inst->iso, module)});
  inst->module_by_hash.emplace(module->GetIdentityHash(), i);
  inst->module_by_key[key] = i;
}

// Adds "at key:line:column" to a SyntaxError's stack: V8 keeps the place of a
// compile error in the message, where scripts and logs do not see it.
void AddPlace(edge_instance* inst, v8::Local<v8::Context> ctx, const std::string& key,
              v8::TryCatch& caught) {
  auto iso = inst->iso;
  auto msg = caught.Message();
  if (msg.IsEmpty() || !caught.Exception()->IsObject()) return;
  std::string at = "    at file:///" + key + ":" +
                   std::to_string(msg->GetLineNumber(ctx).FromMaybe(0)) + ":" +
                   std::to_string(msg->GetStartColumn(ctx).FromMaybe(0) + 1);
  auto err = caught.Exception().As<v8::Object>();
  auto name = v8::String::NewFromUtf8Literal(iso, "stack");
  v8::Local<v8::Value> stack;
  if (!err->Get(ctx, name).ToLocal(&stack) || !stack->IsString()) return;
  std::string text = ToUTF8(iso, stack);
  size_t line = text.find('\n');
  text = (line == std::string::npos ? text : text.substr(0, line)) + "\n" + at;
  v8::Local<v8::String> s;
  if (v8::String::NewFromUtf8(iso, text.data(), v8::NewStringType::kNormal,
                              static_cast<int>(text.size()))
          .ToLocal(&s))
    Ignore(err->Set(ctx, name, s));
}

v8::MaybeLocal<v8::Module> CompileES(edge_instance* inst, v8::Local<v8::Context> ctx,
                                     edge_program::Source* src) {
  auto iso = inst->iso;
  v8::Local<v8::String> text;
  auto bytes = reinterpret_cast<const uint8_t*>(src->text.data());
  if (!NewUTF8(iso, bytes, src->text.size()).ToLocal(&text)) return {};
  std::string url = "file:///" + src->key;
  v8::Local<v8::String> name;
  if (!v8::String::NewFromUtf8(iso, url.data(), v8::NewStringType::kNormal,
                               static_cast<int>(url.size()))
           .ToLocal(&name))
    return {};
  v8::ScriptOrigin origin(name, 0, 0, false, -1, v8::Local<v8::Value>(), false, false, true);
  v8::ScriptCompiler::CachedData* cached = nullptr;
  if (src->cached.load(std::memory_order_acquire))
    cached = new v8::ScriptCompiler::CachedData(src->cache.data(),
                                                static_cast<int>(src->cache.size()));
  v8::ScriptCompiler::Source source(text, origin, cached);
  v8::TryCatch caught(iso);
  v8::Local<v8::Module> module;
  if (!v8::ScriptCompiler::CompileModule(iso, &source,
                                         cached ? v8::ScriptCompiler::kConsumeCodeCache
                                                : v8::ScriptCompiler::kNoCompileOptions)
           .ToLocal(&module)) {
    if (!caught.HasTerminated()) AddPlace(inst, ctx, src->key, caught);
    caught.ReThrow();
    return {};
  }
  inst->unbound.emplace(src->key, v8::Global<v8::UnboundModuleScript>(
                                      iso, module->GetUnboundModuleScript()));
  return module;
}

// Evaluation of a synthetic module: its exports were set when it was made.
v8::MaybeLocal<v8::Value> EvaluateSynthetic(v8::Local<v8::Context> ctx, v8::Local<v8::Module>) {
  auto iso = ctx->GetIsolate();
  v8::Local<v8::Promise::Resolver> resolver;
  if (!v8::Promise::Resolver::New(ctx).ToLocal(&resolver)) return {};
  if (resolver->Resolve(ctx, v8::Undefined(iso)).IsNothing()) return {};
  return resolver->GetPromise();
}

v8::MaybeLocal<v8::Module> Synthetic(edge_instance* inst, v8::Local<v8::Context> ctx,
                                     const std::string& key,
                                     const std::vector<v8::Local<v8::String>>& names,
                                     const std::vector<v8::Local<v8::Value>>& values) {
  auto iso = inst->iso;
  v8::Local<v8::String> name;
  if (!v8::String::NewFromUtf8(iso, key.data(), v8::NewStringType::kNormal,
                               static_cast<int>(key.size()))
           .ToLocal(&name))
    return {};
  auto module = v8::Module::CreateSyntheticModule(
      iso, name, v8::MemorySpan<const v8::Local<v8::String>>(names.data(), names.size()),
      EvaluateSynthetic);
  // Exports can only be set once the module is instantiated.
  if (module->InstantiateModule(ctx, nullptr).IsNothing()) return {};
  for (size_t i = 0; i < names.size(); i++) {
    if (module->SetSyntheticModuleExport(iso, names[i], values[i]).IsNothing()) return {};
  }
  return module;
}

v8::MaybeLocal<v8::Value> DefaultValue(edge_instance* inst, v8::Local<v8::Context> ctx,
                                       edge_program::Source* src) {
  auto iso = inst->iso;
  auto bytes = reinterpret_cast<const uint8_t*>(src->text.data());
  size_t n = src->text.size();
  v8::Local<v8::String> s;
  switch (src->type) {
    case kJSONModule:
      if (!NewUTF8(iso, bytes, n).ToLocal(&s)) return {};
      return v8::JSON::Parse(ctx, s);
    case kTextModule:
      return NewUTF8(iso, bytes, n);
    case kWasmModule: {
      v8::Local<v8::WasmModuleObject> m;
      if (!v8::WasmModuleObject::Compile(iso, {bytes, n}).ToLocal(&m)) return {};
      return m;
    }
    default: {
      v8::Local<v8::Uint8Array> a;
      if (!NewBytes(iso, bytes, n).ToLocal(&a)) return {};
      return a->Buffer();
    }
  }
}

v8::MaybeLocal<v8::Module> LoadBuiltin(edge_instance* inst, v8::Local<v8::Context> ctx,
                                       const std::string& key) {
  auto it = inst->builtins.find(key);
  if (it == inst->builtins.end()) {
    ThrowTypeError(inst->iso, "module \"" + key + "\" is not part of this worker");
    return {};
  }
  auto obj = it->second.Get(inst->iso);
  v8::Local<v8::Array> keys;
  if (!obj->GetOwnPropertyNames(ctx).ToLocal(&keys)) return {};
  std::vector<v8::Local<v8::String>> names;
  std::vector<v8::Local<v8::Value>> values;
  for (uint32_t i = 0; i < keys->Length(); i++) {
    v8::Local<v8::Value> k, v;
    if (!keys->Get(ctx, i).ToLocal(&k) || !k->IsString() || !obj->Get(ctx, k).ToLocal(&v)) return {};
    names.push_back(k.As<v8::String>());
    values.push_back(v);
  }
  return Synthetic(inst, ctx, key, names, values);
}

v8::MaybeLocal<v8::Module> Load(edge_instance* inst, v8::Local<v8::Context> ctx,
                                const std::string& key) {
  auto known = inst->module_by_key.find(key);
  if (known != inst->module_by_key.end())
    return inst->modules[known->second].module.Get(inst->iso);
  v8::Local<v8::Module> module;
  auto it = inst->program->by_key.find(key);
  if (it == inst->program->by_key.end()) {
    if (!LoadBuiltin(inst, ctx, key).ToLocal(&module)) return {};
  } else if (it->second->type == kES) {
    if (!CompileES(inst, ctx, it->second).ToLocal(&module)) return {};
  } else {
    v8::Local<v8::Value> value;
    if (!DefaultValue(inst, ctx, it->second).ToLocal(&value)) return {};
    if (!Synthetic(inst, ctx, key, {v8::String::NewFromUtf8Literal(inst->iso, "default")}, {value})
             .ToLocal(&module))
      return {};
  }
  Remember(inst, key, module);
  return module;
}

// Asks Go which module an import means. Throws its refusal.
bool ResolveKey(edge_instance* inst, std::string spec, std::string referrer, std::string type,
                std::string* key) {
  edge_text out{nullptr, 0};
  int ok = edge_go_resolve(inst->program->host, spec.data(), spec.size(), referrer.data(),
                           referrer.size(), type.data(), type.size(), &out);
  std::string text(out.data ? out.data : "", out.len);
  free(out.data);
  if (!ok) {
    ThrowTypeError(inst->iso, text);
    return false;
  }
  *key = text;
  return true;
}

// The "type" attribute of an import. `step` is 3 where V8 adds source offsets
// to the list and 2 where it does not.
std::string TypeAttribute(v8::Isolate* iso, v8::Local<v8::Context> ctx,
                          v8::Local<v8::FixedArray> list, int step) {
  for (int i = 0; i + 1 < list->Length(); i += step) {
    if (ToUTF8(iso, list->Get(ctx, i).As<v8::Value>()) == "type")
      return ToUTF8(iso, list->Get(ctx, i + 1).As<v8::Value>());
  }
  return {};
}

v8::MaybeLocal<v8::Module> ResolveStatic(v8::Local<v8::Context> ctx,
                                         v8::Local<v8::String> specifier,
                                         v8::Local<v8::FixedArray> attributes,
                                         v8::Local<v8::Module> referrer) {
  auto iso = ctx->GetIsolate();
  auto inst = edge_instance::Of(iso);
  auto from = Find(inst, referrer);
  std::string key;
  if (!ResolveKey(inst, ToUTF8(iso, specifier), from ? from->key : "",
                  TypeAttribute(iso, ctx, attributes, 3), &key))
    return {};
  return Load(inst, ctx, key);
}

void RejectWith(v8::Local<v8::Context> ctx, v8::Local<v8::Promise::Resolver> resolver,
                v8::TryCatch& caught) {
  if (caught.HasTerminated()) return;
  auto reason = caught.Exception();
  caught.Reset();
  Ignore(resolver->Reject(ctx, reason));
}

// An array for the data of a callback. It is made with its elements: setting
// those of an empty one would call setters that script put on Array.prototype.
v8::Local<v8::Value> Pair(v8::Isolate* iso, v8::Local<v8::Value> a, v8::Local<v8::Value> b) {
  v8::Local<v8::Value> list[] = {a, b};
  return v8::Array::New(iso, list, 2);
}

// Loads, links and evaluates a module; the resolver gets its namespace.
void Import(edge_instance* inst, v8::Local<v8::Context> ctx, const std::string& key,
            v8::Local<v8::Promise::Resolver> resolver, v8::TryCatch& caught) {
  v8::Local<v8::Module> module;
  v8::Local<v8::Value> done;
  if (!Load(inst, ctx, key).ToLocal(&module) ||
      module->InstantiateModule(ctx, ResolveStatic).IsNothing() ||
      !module->Evaluate(ctx).ToLocal(&done)) {
    RejectWith(ctx, resolver, caught);
    return;
  }
  // done -> resolver with the namespace, or with the error.
  v8::Local<v8::Value> data = Pair(inst->iso, resolver, module->GetModuleNamespace());
  v8::Local<v8::Function> ok, failed;
  if (!v8::Function::New(
           ctx,
           [](const v8::FunctionCallbackInfo<v8::Value>& info) {
             auto c = info.GetIsolate()->GetCurrentContext();
             auto p = info.Data().As<v8::Array>();
             v8::Local<v8::Value> r, ns;
             if (p->Get(c, 0).ToLocal(&r) && p->Get(c, 1).ToLocal(&ns))
               Ignore(r.As<v8::Promise::Resolver>()->Resolve(c, ns));
           },
           data, 0, v8::ConstructorBehavior::kThrow)
           .ToLocal(&ok) ||
      !v8::Function::New(
           ctx,
           [](const v8::FunctionCallbackInfo<v8::Value>& info) {
             auto c = info.GetIsolate()->GetCurrentContext();
             v8::Local<v8::Value> r;
             if (info.Data().As<v8::Array>()->Get(c, 0).ToLocal(&r))
               Ignore(r.As<v8::Promise::Resolver>()->Reject(c, info[0]));
           },
           data, 1, v8::ConstructorBehavior::kThrow)
           .ToLocal(&failed))
    return;
  Ignore(done.As<v8::Promise>()->Then(ctx, ok, failed));
}

// Imports a module in a microtask. The script that asks may be the top level of
// that very module, or of one that it imports, and V8 gives up when it is to
// evaluate a module within its evaluation.
// https://tc39.es/ecma262/#sec-ContinueDynamicImport
void ImportLater(v8::Local<v8::Context> ctx, const std::string& key,
                 v8::Local<v8::Promise::Resolver> resolver) {
  auto iso = ctx->GetIsolate();
  v8::Local<v8::String> name;
  v8::Local<v8::Promise::Resolver> now;
  v8::Local<v8::Function> go;
  if (!NewUTF8(iso, reinterpret_cast<const uint8_t*>(key.data()), key.size()).ToLocal(&name) ||
      !v8::Promise::Resolver::New(ctx).ToLocal(&now) ||
      now->Resolve(ctx, v8::Undefined(iso)).IsNothing() ||
      !v8::Function::New(
           ctx,
           [](const v8::FunctionCallbackInfo<v8::Value>& info) {
             auto i = info.GetIsolate();
             auto c = i->GetCurrentContext();
             auto p = info.Data().As<v8::Array>();
             v8::Local<v8::Value> r, k;
             if (!p->Get(c, 0).ToLocal(&r) || !p->Get(c, 1).ToLocal(&k)) return;
             v8::TryCatch caught(i);
             Import(edge_instance::Of(i), c, ToUTF8(i, k), r.As<v8::Promise::Resolver>(), caught);
             if (caught.HasTerminated()) caught.ReThrow();
           },
           Pair(iso, resolver, name), 0, v8::ConstructorBehavior::kThrow)
           .ToLocal(&go))
    return;
  Ignore(now->GetPromise()->Then(ctx, go));
}

}  // namespace

v8::MaybeLocal<v8::Promise> ImportMain(edge_instance* inst, v8::Local<v8::Context> ctx) {
  v8::Local<v8::Promise::Resolver> resolver;
  if (!v8::Promise::Resolver::New(ctx).ToLocal(&resolver)) return {};
  v8::TryCatch caught(inst->iso);
  if (inst->program == nullptr) {
    ThrowTypeError(inst->iso, "no program is attached");
    RejectWith(ctx, resolver, caught);
  } else {
    Import(inst, ctx, inst->program->main, resolver, caught);
  }
  if (caught.HasTerminated()) {
    caught.ReThrow();
    return {};
  }
  return resolver->GetPromise();
}

v8::MaybeLocal<v8::Promise> ImportDynamically(v8::Local<v8::Context> ctx, v8::Local<v8::Data>,
                                              v8::Local<v8::Value> referrer,
                                              v8::Local<v8::String> specifier,
                                              v8::Local<v8::FixedArray> attributes) {
  auto iso = ctx->GetIsolate();
  auto inst = edge_instance::Of(iso);
  v8::Local<v8::Promise::Resolver> resolver;
  if (!v8::Promise::Resolver::New(ctx).ToLocal(&resolver)) return {};
  v8::TryCatch caught(iso);
  std::string key, from = ToUTF8(iso, referrer);
  if (from.rfind("file:///", 0) == 0) from = from.substr(8);
  if (inst == nullptr || inst->program == nullptr) {
    ThrowTypeError(iso, "import() is not available here");
    RejectWith(ctx, resolver, caught);
  } else if (ResolveKey(inst, ToUTF8(iso, specifier), from,
                        TypeAttribute(iso, ctx, attributes, 2), &key)) {
    ImportLater(ctx, key, resolver);
  } else {
    RejectWith(ctx, resolver, caught);
  }
  if (caught.HasTerminated()) {
    caught.ReThrow();
    return {};
  }
  return resolver->GetPromise();
}

// https://html.spec.whatwg.org/#hostgetimportmetaproperties
void InitImportMeta(v8::Local<v8::Context> ctx, v8::Local<v8::Module> module,
                    v8::Local<v8::Object> meta) {
  auto iso = ctx->GetIsolate();
  auto inst = edge_instance::Of(iso);
  auto found = inst ? Find(inst, module) : nullptr;
  if (found == nullptr) return;
  std::string url = "file:///" + found->key;
  v8::Local<v8::String> s;
  if (!v8::String::NewFromUtf8(iso, url.data(), v8::NewStringType::kNormal,
                               static_cast<int>(url.size()))
           .ToLocal(&s))
    return;
  Ignore(meta->CreateDataProperty(ctx, Str(iso, "url"), s));
  Ignore(meta->CreateDataProperty(ctx, Str(iso, "main"),
                                 v8::Boolean::New(iso, found->key == inst->program->main)));
}

}  // namespace edge

edge_program* edge_program_new(const edge_module* mods, size_t n, const char* main,
                               size_t main_len, uintptr_t host) {
  auto p = new edge_program;
  p->main.assign(main, main_len);
  p->host = host;
  for (size_t i = 0; i < n; i++) {
    auto src = std::make_unique<edge_program::Source>();
    src->key.assign(mods[i].key, mods[i].key_len);
    src->type = mods[i].type;
    src->text.assign(mods[i].source, mods[i].source_len);
    p->by_key[src->key] = src.get();
    p->modules.push_back(std::move(src));
  }
  return p;
}

void edge_program_free(edge_program* p) { delete p; }

size_t edge_program_make_cache(edge_program* p, edge_instance* inst) {
  // A thread that V8 gave up on may keep the lock for good; the program then goes
  // without a cache.
  std::unique_lock<std::mutex> cache_lock(p->cache_mu, std::try_to_lock);
  if (!cache_lock.owns_lock() || inst->dead) return 0;
  auto iso = inst->iso;
  v8::Locker locker(iso);
  v8::Isolate::Scope isolate_scope(iso);
  v8::HandleScope handles(iso);
  size_t total = 0;
  for (size_t i = 0; i < inst->modules.size(); i++) {
    auto it = p->by_key.find(inst->modules[i].key);
    if (it == p->by_key.end() || it->second->type != 0 || it->second->cached.load()) continue;
    auto unbound = inst->unbound.find(inst->modules[i].key);
    if (unbound == inst->unbound.end()) continue;
    std::unique_ptr<v8::ScriptCompiler::CachedData> data(
        v8::ScriptCompiler::CreateCodeCache(unbound->second.Get(iso)));
    if (!data) continue;
    it->second->cache.assign(data->data, data->data + data->length);
    it->second->cached.store(true, std::memory_order_release);
    total += static_cast<size_t>(data->length);
  }
  return total;
}
