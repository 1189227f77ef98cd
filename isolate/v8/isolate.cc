// Isolates: making them, running slices, stopping them.
#include "isolate.h"

#include <pthread.h>
#include <time.h>

#include "instance.h"
#include "libplatform/libplatform.h"

namespace edge {
namespace {

constexpr int64_t kLongSlice = 1000000;  // 1 ms, in ns
constexpr uint32_t kMemoryEvery = 64;    // slices between two readings

enum EventKind : uint8_t { kCall = 1, kResolve = 2, kReject = 3 };
enum Status : int32_t { kOK = 0, kTerminated = 1, kHeapLimit = 2, kFatal = 3 };

// Enters an isolate and its context for the length of a C++ frame. Isolate
// thread only.
class Enter {
 public:
  explicit Enter(edge_instance* inst)
      : locker_(inst->iso),
        isolate_scope_(inst->iso),
        handles_(inst->iso),
        context_(inst->context.Get(inst->iso)),
        context_scope_(context_),
        previous_(current) {
    current = inst;
  }
  ~Enter() { current = previous_; }
  Enter(const Enter&) = delete;
  Enter& operator=(const Enter&) = delete;
  v8::Local<v8::Context> context() const { return context_; }

 private:
  v8::Locker locker_;
  v8::Isolate::Scope isolate_scope_;
  v8::HandleScope handles_;
  v8::Local<v8::Context> context_;
  v8::Context::Scope context_scope_;
  edge_instance* previous_;
};

// Ends the script when the heap nears its limit. The limit is raised once, so
// that the termination has room to be carried out.
size_t NearHeapLimit(void* data, size_t limit, size_t) {
  auto inst = static_cast<edge_instance*>(data);
  inst->heap_hit = true;
  inst->iso->TerminateExecution();
  if (inst->heap_raised) return limit;
  inst->heap_raised = true;
  return limit + (limit / 2 > (8u << 20) ? limit / 2 : (8u << 20));
}

void OnReject(v8::PromiseRejectMessage message) {
  auto promise = message.GetPromise();
  auto iso = promise->GetIsolate();
  auto inst = edge_instance::Of(iso);
  if (inst == nullptr || inst->unhandled.IsEmpty()) return;
  switch (message.GetEvent()) {
    case v8::kPromiseRejectWithNoHandler:
      if (inst->rejections.size() < 1000)
        inst->rejections.push_back({0, v8::Global<v8::Promise>(iso, promise),
                                    v8::Global<v8::Value>(iso, message.GetValue())});
      break;
    case v8::kPromiseHandlerAddedAfterReject:
      // Within one checkpoint the two cancel out.
      for (size_t i = 0; i < inst->rejections.size(); i++) {
        if (inst->rejections[i].type == 0 && inst->rejections[i].promise == promise) {
          inst->rejections.erase(inst->rejections.begin() + static_cast<ptrdiff_t>(i));
          return;
        }
      }
      if (inst->rejections.size() < 1000)
        inst->rejections.push_back({1, v8::Global<v8::Promise>(iso, promise),
                                    v8::Global<v8::Value>(iso, v8::Undefined(iso))});
      break;
    default:
      break;
  }
}

void ReadMemory(edge_instance* inst, edge_memory* m) {
  v8::HeapStatistics stats;
  inst->iso->GetHeapStatistics(&stats);
  m->heap_used = static_cast<int64_t>(stats.used_heap_size());
  m->heap_total = static_cast<int64_t>(stats.total_heap_size());
  m->external = static_cast<int64_t>(stats.external_memory());
  m->buffers = inst->alloc->used();
  m->large_objects = 0;
  v8::HeapSpaceStatistics space;
  for (size_t i = 0; i < inst->iso->NumberOfHeapSpaces(); i++) {
    if (!inst->iso->GetHeapSpaceStatistics(&space, i)) continue;
    if (strstr(space.space_name(), "large_object"))
      m->large_objects += static_cast<int64_t>(space.space_size());
  }
}

// Asks for a sample of a slice that is not short. mu is held.
void AskForSampleLocked(edge_instance* inst) {
  if (inst->sample_asked || inst->dead) return;
  inst->sample_asked = true;
  inst->iso->RequestInterrupt(
      [](v8::Isolate*, void* data) { TakeSample(static_cast<edge_instance*>(data)); }, inst);
}

// Runs one event's JavaScript. Exceptions that reach this far are a bug of the
// runtime's own handlers; they are dropped with the handler's work.
class Runner {
 public:
  Runner(edge_instance* inst, v8::Local<v8::Context> ctx)
      : inst_(inst), iso_(inst->iso), ctx_(ctx) {}

  void Event(Reader* in) {
    uint8_t kind = in->U8();
    uint32_t invocation = in->U32();
    uint32_t target = in->U32();
    uint16_t argc = in->U16();
    inst_->invocation.store(invocation, std::memory_order_relaxed);
    v8::HandleScope handles(iso_);
    v8::TryCatch caught(iso_);
    iso_->SetContinuationPreservedEmbedderData(v8::Integer::NewFromUnsigned(iso_, invocation));
    args_.clear();
    Deliver(kind, target, argc, in, caught);
    Note(caught);
  }

  bool terminated() const { return terminated_; }

  // Runs the microtasks. A termination inside drops those that are left.
  void Checkpoint() {
    v8::TryCatch caught(iso_);
    iso_->PerformMicrotaskCheckpoint();
    Note(caught);
  }

  // Reports rejections; true when there were any.
  bool Report() {
    if (inst_->rejections.empty()) return false;
    std::vector<Rejection> list;
    list.swap(inst_->rejections);
    v8::HandleScope handles(iso_);
    v8::TryCatch caught(iso_);
    auto fn = inst_->unhandled.Get(iso_);
    for (auto& r : list) {
      v8::Local<v8::Value> argv[] = {v8::Integer::New(iso_, r.type), r.promise.Get(iso_),
                                     r.reason.Get(iso_)};
      Ignore(fn->Call(ctx_, v8::Undefined(iso_), 3, argv));
      Note(caught);
      if (terminated_) break;
      caught.Reset();
    }
    return true;
  }

 private:
  void Note(const v8::TryCatch& caught) {
    terminated_ = terminated_ || caught.HasTerminated() || iso_->IsExecutionTerminating();
  }

  void Deliver(uint8_t kind, uint32_t target, uint16_t argc, Reader* in, v8::TryCatch& caught) {
    for (uint16_t i = 0; i < argc; i++) {
      v8::Local<v8::Value> v;
      if (Decode(iso_, ctx_, in).ToLocal(&v)) {
        args_.push_back(v);
        continue;
      }
      // A promise learns why its value could not be made; nothing else fails.
      if (kind != kResolve || caught.HasTerminated()) return;
      v = caught.Exception();
      caught.Reset();
      Settle(target, false, v);
      return;
    }
    switch (kind) {
      case kCall:
        if (target < inst_->handlers.size()) {
          auto fn = inst_->handlers[target].Get(iso_);
          Ignore(fn->Call(ctx_, v8::Undefined(iso_), static_cast<int>(args_.size()), args_.data()));
        }
        break;
      case kResolve:
        if (args_.size() == 1) Settle(target, true, args_[0]);
        break;
      case kReject:
        if (args_.size() == 4) Settle(target, false, MakeError(inst_, ctx_, args_.data()));
        break;
    }
  }

  void Settle(uint32_t id, bool ok, v8::Local<v8::Value> v) {
    if (id == 0 || id > inst_->promises.size() || inst_->promises[id - 1].IsEmpty()) return;
    auto resolver = inst_->promises[id - 1].Get(iso_);
    inst_->promises[id - 1].Reset();
    inst_->free_promises.push_back(id);
    if (ok) {
      Ignore(resolver->Resolve(ctx_, v));
    } else {
      Ignore(resolver->Reject(ctx_, v));
    }
  }

  edge_instance* inst_;
  v8::Isolate* iso_;
  v8::Local<v8::Context> ctx_;
  std::vector<v8::Local<v8::Value>> args_;
  bool terminated_ = false;
};

void BeginSlice(edge_instance* inst) {
  int64_t now = MonoNanos();
  clockid_t clock;
  pthread_getcpuclockid(pthread_self(), &clock);
  // The clock of the thread costs 0.6 us: it is read now only for an instance
  // that has shown it runs long.
  int64_t cpu = inst->last_slice_long ? CPUNanos(clock) : 0;
  inst->event_mono.store(now, std::memory_order_relaxed);
  inst->invocation.store(0, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(inst->mu);
  inst->running = true;
  inst->serial++;
  inst->clock = clock;
  inst->start_mono = now;
  inst->start_cpu = cpu;
  inst->probe_mono = 0;
  inst->probe_cpu = 0;
}

// Charges the time since the last event to the one that ends.
void ChargeEvent(edge_instance* inst, int64_t now) {
  int64_t began = inst->event_mono.load(std::memory_order_relaxed);
  inst->times.push_back({inst->invocation.load(std::memory_order_relaxed), now - began});
  inst->event_mono.store(now, std::memory_order_relaxed);
}

// Reports whether the slice is to end.
bool Stopped(edge_instance* inst) {
  std::lock_guard<std::mutex> lock(inst->mu);
  return inst->terminate_requested || inst->heap_hit;
}

// Delivers the events and reports whether the last one was terminated.
bool RunBatch(edge_instance* inst, v8::Local<v8::Context> ctx, const uint8_t* batch, size_t len,
              edge_slice_result* result) {
  auto iso = inst->iso;
  Runner run(inst, ctx);
  Reader in(batch, len);
  while (!in.done() && !run.terminated()) {
    result->events++;
    run.Event(&in);
    for (int rounds = 0; !run.terminated() && rounds < 16; rounds++) {
      run.Checkpoint();
      result->jobs_lost = run.terminated();
      if (run.terminated() || !run.Report()) break;
    }
    ChargeEvent(inst, MonoNanos());
  }
  if (run.terminated()) return true;
  // What V8 does for itself is on behalf of no invocation.
  inst->invocation.store(0, std::memory_order_relaxed);
  iso->SetContinuationPreservedEmbedderData(v8::Undefined(iso));
  // A termination ends one task; V8 would begin the next, such as the callback of
  // the next finalizer.
  bool pumped = false;
  while (!Stopped(inst) && v8::platform::PumpMessageLoop(PlatformOfProcess(), iso)) pumped = true;
  if (pumped && !Stopped(inst)) run.Checkpoint();
  if (!Stopped(inst)) return run.terminated();
  result->jobs_lost = true;
  return true;
}

// CPU time since the slice began. mu is held.
int64_t SliceCPULocked(edge_instance* inst, int64_t now) {
  int64_t cpu = CPUNanos(inst->clock);
  if (cpu == 0) return now - inst->start_mono;
  if (inst->start_cpu != 0) return cpu - inst->start_cpu;
  if (inst->probe_mono == 0) {
    inst->probe_mono = now;
    inst->probe_cpu = cpu;
  }
  return (inst->probe_mono - inst->start_mono) + (cpu - inst->probe_cpu);
}

// Closes the slice to Terminate and Probe, and reports whether it was to end.
bool EndSlice(edge_instance* inst, edge_slice_result* result) {
  int64_t now = MonoNanos();
  inst->last_slice_long = now - inst->start_mono >= kLongSlice;
  bool wanted;
  {
    std::lock_guard<std::mutex> lock(inst->mu);
    if (inst->last_slice_long || inst->start_cpu != 0 || inst->terminate_requested)
      result->cpu_nanos = SliceCPULocked(inst, now);
    inst->running = false;
    wanted = inst->terminate_requested || inst->heap_hit;
    inst->terminate_requested = false;
  }
  return wanted;
}

// Drops what a killed script left in the queue, or it would run in the next
// request; the second Cancel is for a queue that was empty.
void DropJobs(edge_instance* inst) {
  auto iso = inst->iso;
  iso->CancelTerminateExecution();
  iso->TerminateExecution();
  {
    v8::TryCatch caught(iso);
    iso->PerformMicrotaskCheckpoint();
  }
  iso->CancelTerminateExecution();
  inst->rejections.clear();
}

}  // namespace

v8::Local<v8::String> Str(v8::Isolate* iso, const char* s) {
  return v8::String::NewFromUtf8(iso, s).ToLocalChecked();
}

std::string ToUTF8(v8::Isolate* iso, v8::Local<v8::Value> s) {
  if (!s->IsString()) return {};
  std::vector<char> out;
  AppendUTF8(iso, s.As<v8::String>(), &out);
  return std::string(out.data(), out.size());
}

void ThrowTypeError(v8::Isolate* iso, const std::string& message) {
  v8::Local<v8::String> s;
  if (!v8::String::NewFromUtf8(iso, message.data(), v8::NewStringType::kNormal,
                               static_cast<int>(message.size()))
           .ToLocal(&s))
    return;
  iso->ThrowException(v8::Exception::TypeError(s));
}

v8::Local<v8::Value> MakeError(edge_instance* inst, v8::Local<v8::Context> ctx,
                               v8::Local<v8::Value>* argv) {
  auto iso = inst->iso;
  auto message = argv[2].As<v8::String>();
  v8::Local<v8::Value> err;
  switch (argv[0]->Int32Value(ctx).FromMaybe(0)) {
    case 1:
      err = v8::Exception::TypeError(message);
      break;
    case 2:
      err = v8::Exception::RangeError(message);
      break;
    case 3:
      err = v8::Exception::SyntaxError(message);
      break;
    case 4: {
      v8::Local<v8::Value> a[] = {message, argv[1]};
      if (!inst->dom_exception.IsEmpty() &&
          inst->dom_exception.Get(iso)->Call(ctx, v8::Undefined(iso), 2, a).ToLocal(&err))
        break;
      [[fallthrough]];
    }
    default:
      err = v8::Exception::Error(message);
  }
  if (argv[3]->IsString() && argv[3].As<v8::String>()->Length() > 0 && err->IsObject()) {
    Ignore(err.As<v8::Object>()->DefineOwnProperty(
        ctx, v8::String::NewFromUtf8Literal(iso, "code"), argv[3], v8::DontEnum));
  }
  return err;
}

// The request may be met in a later slice than the one it was made in.
void TakeSample(edge_instance* inst) {
  edge_memory m;
  ReadMemory(inst, &m);
  std::lock_guard<std::mutex> lock(inst->mu);
  inst->sample = m;
  inst->sample_serial = inst->serial;
  inst->sample_asked = false;
}

void InstallHooks(edge_instance* inst) {
  inst->iso->SetMicrotasksPolicy(v8::MicrotasksPolicy::kExplicit);
  inst->iso->SetPromiseRejectCallback(OnReject);
  inst->iso->SetHostImportModuleDynamicallyCallback(ImportDynamically);
  inst->iso->SetHostInitializeImportMetaObjectCallback(InitImportMeta);
  inst->iso->AddNearHeapLimitCallback(NearHeapLimit, inst);
  inst->iso->AddGCPrologueCallback(
      [](v8::Isolate*, v8::GCType, v8::GCCallbackFlags, void* data) {
        static_cast<edge_instance*>(data)->collecting.store(true, std::memory_order_relaxed);
      },
      inst);
  inst->iso->AddGCEpilogueCallback(
      [](v8::Isolate*, v8::GCType, v8::GCCallbackFlags, void* data) {
        auto inst = static_cast<edge_instance*>(data);
        inst->collecting.store(false, std::memory_order_relaxed);
        // A script that does nothing but collect is hardly ever met elsewhere.
        if (inst->sample_asked.load(std::memory_order_relaxed)) TakeSample(inst);
      },
      inst);
}

}  // namespace edge

edge_instance* edge_isolate_new(edge_snapshot* s, int64_t heap_bytes, int64_t buffer_bytes,
                                uintptr_t host) {
  auto inst = new edge_instance;
  inst->snapshot = s;
  inst->host = host;
  inst->alloc = std::make_unique<edge::CountingAllocator>(buffer_bytes);
  inst->out_limit = static_cast<size_t>(heap_bytes + buffer_bytes);
  v8::Isolate::CreateParams p;
  p.array_buffer_allocator = inst->alloc.get();
  p.snapshot_blob = &s->blob;
  p.external_references = s->references.data();
  p.oom_error_callback = edge::OnOOM;
  p.fatal_error_callback = edge::OnFatal;
  p.constraints.ConfigureDefaultsFromHeapSize(0, static_cast<size_t>(heap_bytes));
  auto previous = edge::current;
  edge::current = inst;
  auto iso = inst->iso = v8::Isolate::New(p);
  iso->SetData(0, inst);
  edge::InstallHooks(inst);
  bool ok = true;
  {
    v8::Locker locker(iso);
    v8::Isolate::Scope isolate_scope(iso);
    v8::HandleScope handles(iso);
    auto ctx = v8::Context::New(iso);
    v8::Context::Scope context_scope(ctx);
    ctx->AllowCodeGenerationFromStrings(false);
    ctx->SetErrorMessageForCodeGenerationFromStrings(
        edge::Str(iso, "Code generation from strings is not allowed in a worker"));
    inst->context.Reset(iso, ctx);
    size_t n = s->handlers.size();
    v8::Local<v8::Function> fn;
    for (size_t i = 0; i < n && ok; i++) {
      ok = ctx->GetDataFromSnapshotOnce<v8::Function>(i).ToLocal(&fn);
      if (ok) inst->handlers.emplace_back(iso, fn);
    }
    size_t at = n;
    if (ok && s->has_unhandled && (ok = ctx->GetDataFromSnapshotOnce<v8::Function>(at++).ToLocal(&fn)))
      inst->unhandled.Reset(iso, fn);
    if (ok && s->has_dom_exception &&
        (ok = ctx->GetDataFromSnapshotOnce<v8::Function>(at++).ToLocal(&fn)))
      inst->dom_exception.Reset(iso, fn);
    for (size_t i = 0; i < s->builtins.size() && ok; i++) {
      v8::Local<v8::Object> obj;
      ok = ctx->GetDataFromSnapshotOnce<v8::Object>(at++).ToLocal(&obj);
      if (ok) inst->builtins.emplace(s->builtins[i], v8::Global<v8::Object>(iso, obj));
    }
  }
  edge::current = previous;
  if (!ok) {
    edge_isolate_free(inst);
    return nullptr;
  }
  return inst;
}

void edge_isolate_set_program(edge_instance* inst, edge_program* p) { inst->program = p; }

void edge_isolate_slice(edge_instance* inst, const uint8_t* batch, size_t len,
                        edge_slice_result* result) {
  using namespace edge;
  *result = {};
  inst->out.Clear();
  inst->times.clear();
  bool terminated = false;
  if (!inst->dead) {
    BeginSlice(inst);
    Enter enter(inst);
    bool alive = Guarded([&] { terminated = RunBatch(inst, enter.context(), batch, len, result); });
    // The event that was cut short.
    if (inst->times.size() < result->events) ChargeEvent(inst, MonoNanos());
    terminated = EndSlice(inst, result) || terminated;
    if (alive && terminated) alive = Guarded([inst] { DropJobs(inst); });
    if (!alive) {
      inst->dead = true;
      inst->fatal = LastFatal();
    } else if (inst->last_slice_long || inst->slices++ % kMemoryEvery == 0) {
      ReadMemory(inst, &result->memory);
      result->memory_read = true;
    }
    if (!result->memory_read) result->memory.buffers = inst->alloc->used();
  }
  result->status = inst->dead       ? kFatal
                   : inst->heap_hit ? kHeapLimit
                   : terminated     ? kTerminated
                                    : kOK;
  result->fatal = inst->fatal.data();
  result->fatal_len = inst->fatal.size();
  result->commands = inst->out.data();
  result->commands_len = inst->out.size();
  result->times = inst->times.data();
  result->times_len = inst->times.size();
}

bool edge_isolate_terminate(edge_instance* inst, uint64_t serial) {
  std::lock_guard<std::mutex> lock(inst->mu);
  if (!inst->running || (serial != 0 && serial != inst->serial)) return false;
  inst->terminate_requested = true;
  inst->iso->TerminateExecution();
  return true;
}

void edge_isolate_probe(edge_instance* inst, edge_probe* out) {
  std::lock_guard<std::mutex> lock(inst->mu);
  *out = {};
  out->running = inst->running;
  out->serial = inst->serial;
  if (!inst->running) return;
  int64_t now = edge::MonoNanos();
  out->invocation = inst->invocation.load(std::memory_order_relaxed);
  out->slice_nanos = edge::SliceCPULocked(inst, now);
  int64_t earlier = inst->event_mono.load(std::memory_order_relaxed) - inst->start_mono;
  out->event_nanos = out->slice_nanos > earlier ? out->slice_nanos - earlier : 0;
  if (inst->sample_serial == inst->serial) out->memory = inst->sample;
  // These two may be read on any thread, and grow where no interrupt is looked
  // for: in a loop of memory.grow, in a builtin.
  out->memory.buffers = inst->alloc->used();
  out->memory.external = inst->iso->AdjustAmountOfExternalAllocatedMemory(0);
  if (now - inst->start_mono >= edge::kLongSlice) edge::AskForSampleLocked(inst);
}

void edge_isolate_idle(edge_instance* inst) {
  if (inst->dead) return;
  edge::Enter enter(inst);
  inst->dead = !edge::Guarded([inst] {
    // Its tasks wait for the next slice: finalizers are code of the worker, which
    // nobody watches here.
    inst->iso->LowMemoryNotification();
  });
  if (inst->dead) inst->fatal = edge::LastFatal();
}

void edge_isolate_memory(edge_instance* inst, edge_memory* out) {
  *out = {};
  if (inst->dead) return;
  edge::Enter enter(inst);
  edge::ReadMemory(inst, out);
}

bool edge_isolate_free(edge_instance* inst) {
  auto previous = edge::current;
  edge::current = inst;
  // Even the end of an isolate in which V8 gave up may fail; it is left as it is
  // then.
  bool freed = edge::Guarded([inst] {
    auto iso = inst->iso;
    {
      v8::Locker locker(iso);
      v8::Isolate::Scope isolate_scope(iso);
      inst->ResetHandles();
    }
    v8::platform::NotifyIsolateShutdown(edge::PlatformOfProcess(), iso);
    iso->Dispose();
  });
  edge::current = previous;
  if (freed) delete inst;
  return freed;
}

void edge_isolate_sync_result(edge_instance* inst, int32_t kind, const uint8_t* data,
                              size_t len) {
  inst->sync_kind = kind;
  inst->sync_result.assign(data, data + len);
}
