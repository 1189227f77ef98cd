// V8 looks for a termination at the entry of functions and at the end of a
// loop's round. But code that is not yet optimised by Turbofan looks at the end
// of a round only when the loop has used up its function's interrupt budget, and
// that budget is 2^30 bytes of bytecode while an optimised version is being
// compiled on another thread, and for functions too long to be optimised. A loop
// of calls to builtins then goes on for minutes after its termination, since the
// finished compilation, too, is only picked up where the loop looks.
//
// So a thread of ours interrupts the script's thread by a signal until the slice
// has ended; the handler sets the budgets of the functions on the stack to zero.
#include "stop.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "instance.h"
#include "libplatform/libplatform.h"

namespace edge {
namespace {

using v8::internal::Internals;

// Where this V8 keeps what is needed. Offsets are those of 13.6 with pointer
// compression; Calibrate checks them all before they are used.
constexpr size_t kFunctionCell = 24;  // JSFunction::feedback_cell
constexpr size_t kCellValue = 4;      // FeedbackCell::value
constexpr size_t kCellBudget = 12;    // FeedbackCell::interrupt_budget
constexpr size_t kExitFrame = Internals::kIsolateThreadLocalTopOffset;  // c_entry_fp
constexpr size_t kFrameContext = 8;    // below the frame pointer
constexpr size_t kFrameFunction = 16;  // likewise
constexpr int kMaxFrames = 64;
constexpr int kPatience = 100;  // signals until a script is left

struct Layout {
  bool known = false;
  uint16_t function = 0;     // instance types
  uint16_t constructor = 0;  // of a class
  uint16_t cell = 0;
  uintptr_t undefined = 0;
};
Layout g_layout;

template <class T>
T Load(uintptr_t at) {
  T v;
  memcpy(&v, reinterpret_cast<const void*>(at), sizeof v);
  return v;
}

// Heap objects are addresses plus one; fields hold the lower half of one.
bool IsObject(uintptr_t v, uintptr_t cage) { return (v & 1) == 1 && (v >> 32) == (cage >> 32); }
uintptr_t Field(uintptr_t object, size_t offset, uintptr_t cage) {
  return cage + Load<uint32_t>(object - 1 + offset);
}
uint16_t TypeOf(uintptr_t object, uintptr_t cage) {
  return Load<uint16_t>(Field(object, Internals::kHeapObjectMapOffset, cage) - 1 +
                        Internals::kMapInstanceTypeOffset);
}

// The feedback cell of a function, 0 when there is none. A cell without a value
// is shared by many functions and read-only.
uintptr_t CellOf(uintptr_t function, uintptr_t cage, const Layout& layout) {
  uint16_t type = TypeOf(function, cage);
  if (type != layout.function && type != layout.constructor) return 0;
  uintptr_t cell = Field(function, kFunctionCell, cage);
  if (!IsObject(cell, cage) || TypeOf(cell, cage) != layout.cell) return 0;
  uintptr_t value = Field(cell, kCellValue, cage);
  return IsObject(value, cage) && value != layout.undefined ? cell : 0;
}

int32_t* BudgetOf(uintptr_t cell) {
  return reinterpret_cast<int32_t*>(cell - 1 + kCellBudget);
}

// Visits the functions of V8's frames from fp to the frame where C++ entered
// JavaScript. Slots below sp are not written yet.
template <class F>
void WalkFrames(const StopState& s, uintptr_t cage, uintptr_t sp, uintptr_t fp, F visit) {
  for (int i = 0; i < kMaxFrames; i++) {
    if (fp < sp || fp > s.stack_top - 2 * sizeof(uintptr_t) || fp % sizeof(uintptr_t) != 0) return;
    if (fp - kFrameFunction >= sp) {
      uintptr_t context = Load<uintptr_t>(fp - kFrameContext);
      uintptr_t function = Load<uintptr_t>(fp - kFrameFunction);
      if (IsObject(context, cage) && IsObject(function, cage)) visit(function);
    }
    uintptr_t ret = Load<uintptr_t>(fp + sizeof(uintptr_t));
    for (auto& entry : s.entries) {
      if (entry.Has(ret)) return;
    }
    uintptr_t next = Load<uintptr_t>(fp);
    if (next <= fp) return;
    fp = next;
  }
}

// Sets the budgets of the functions on the stack to zero. The instance's thread
// only, outside of collections: from V8's own code (fp is its frame pointer), or
// from C++ that it called (fp is 0).
void SpendBudgets(edge_instance* inst, uintptr_t sp, uintptr_t fp) {
  auto base = reinterpret_cast<uintptr_t>(inst->iso);
  if (fp == 0) fp = Load<uintptr_t>(base + Internals::kIsolateFastCCallCallerFpOffset);
  if (fp == 0) fp = Load<uintptr_t>(base + kExitFrame);
  uintptr_t cage = Load<uintptr_t>(base + Internals::kIsolateCageBaseOffset);
  WalkFrames(inst->stop, cage, sp, fp, [cage](uintptr_t function) {
    if (uintptr_t cell = CellOf(function, cage, g_layout)) *BudgetOf(cell) = 0;
  });
}

uintptr_t StackPointer() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

void ReadCode(v8::Isolate* iso, StopState* s) {
  const void* start = nullptr;
  size_t size = 0;
  iso->GetEmbeddedCodeRange(&start, &size);
  s->builtins = {reinterpret_cast<uintptr_t>(start), size};
  void* heap = nullptr;
  iso->GetCodeRange(&heap, &size);
  s->code = {reinterpret_cast<uintptr_t>(heap), size};
  auto stubs = iso->GetJSEntryStubs();
  const v8::MemoryRange* entries[] = {&stubs.js_entry_stub.code, &stubs.js_construct_entry_stub.code,
                                      &stubs.js_run_microtasks_entry_stub.code};
  for (int i = 0; i < 3; i++)
    s->entries[i] = {reinterpret_cast<uintptr_t>(entries[i]->start), entries[i]->length_in_bytes};
}

struct Registers {
  uintptr_t pc, sp, fp;
};

Registers RegistersOf(void* context) {
  auto& m = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__linux__) && defined(__x86_64__)
  return {static_cast<uintptr_t>(m.gregs[REG_RIP]), static_cast<uintptr_t>(m.gregs[REG_RSP]),
          static_cast<uintptr_t>(m.gregs[REG_RBP])};
#elif defined(__linux__) && defined(__aarch64__)
  return {m.pc, m.sp, m.regs[29]};
#elif defined(__APPLE__) && defined(__x86_64__)
  return {m->__ss.__rip, m->__ss.__rsp, m->__ss.__rbp};
#elif defined(__APPLE__) && defined(__aarch64__)
  return {__darwin_arm_thread_state64_get_pc(m->__ss), __darwin_arm_thread_state64_get_sp(m->__ss),
          __darwin_arm_thread_state64_get_fp(m->__ss)};
#endif
}

// A signal that neither Go nor V8 uses.
int Signal() {
#if defined(SIGRTMAX)
  return SIGRTMAX - 3;
#else
  return SIGINFO;
#endif
}

// Runs on the script's thread, between any two instructions.
void OnSignal(int, siginfo_t*, void* context) {
  edge_instance* inst = current;
  if (inst == nullptr || !inst->stop.wanted.load(std::memory_order_relaxed) ||
      inst->stop.collecting.load(std::memory_order_relaxed))
    return;
  Registers r = RegistersOf(context);
  bool in_v8_code = inst->stop.builtins.Has(r.pc) || inst->stop.code.Has(r.pc);
  // Code of V8's own holds no lock and no memory but the heap's.
  if (++inst->stop.rounds > kPatience && in_v8_code)
    Leave("the script does not look whether it should end", static_cast<ucontext_t*>(context)->uc_sigmask);
  SpendBudgets(inst, r.sp, in_v8_code ? r.fp : 0);
}

// The thread that interrupts. It exists from the first termination on.
class Stopper {
 public:
  // Adds inst if its slice runs. Calls ask with the locks held.
  void Add(edge_instance* inst) {
    std::lock_guard<std::mutex> lock(mu_);
    {
      std::lock_guard<std::mutex> instance_lock(inst->mu);
      if (!inst->running || inst->stop.wanted.load()) return;
      inst->stop.rounds = 0;
      inst->stop.wanted.store(true);
    }
    list_.push_back(inst);
    if (list_.size() > 1) return;
    if (!started_) Start();
    wake_.notify_one();
  }
  void Remove(edge_instance* inst) {
    std::lock_guard<std::mutex> lock(mu_);
    list_.erase(std::remove(list_.begin(), list_.end(), inst), list_.end());
    inst->stop.wanted.store(false);
  }

 private:
  static constexpr std::chrono::milliseconds kEvery{1};

  // The process's signals are for Go's threads.
  void Start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started_ = true;
  }

  void Run() {
    std::unique_lock<std::mutex> lock(mu_);
    for (;;) {
      if (list_.empty()) {
        wake_.wait(lock);
        continue;
      }
      // Almost all scripts end within the first round.
      wake_.wait_for(lock, kEvery);
      for (auto inst : list_) {
        std::lock_guard<std::mutex> instance_lock(inst->mu);
        if (inst->running) pthread_kill(inst->stop.thread, Signal());
      }
    }
  }

  std::mutex mu_;  // taken before mu of an instance
  std::condition_variable wake_;
  std::vector<edge_instance*> list_;
  bool started_ = false;
};

Stopper& TheStopper() {
  static Stopper* stopper = new Stopper;
  return *stopper;
}

// What Calibrate's script calls: notes whether a walk from here finds it.
struct Trial {
  uintptr_t function = 0;
  bool found = false;
  StopState stop;
};

void FindCaller(const v8::FunctionCallbackInfo<v8::Value>& info) {
  auto trial = static_cast<Trial*>(info.Data().As<v8::External>()->Value());
  auto base = reinterpret_cast<uintptr_t>(info.GetIsolate());
  uintptr_t cage = Load<uintptr_t>(base + Internals::kIsolateCageBaseOffset);
  WalkFrames(trial->stop, cage, StackPointer(), Load<uintptr_t>(base + kExitFrame),
             [trial](uintptr_t f) { trial->found = trial->found || f == trial->function; });
}

uintptr_t AddressOf(v8::Local<v8::Value> v) { return v8::internal::ValueHelper::ValueAsAddress(*v); }

// Runs a loop and looks whether its function's budget is where it is expected,
// falls, and belongs to the function that the stack shows.
bool Calibrate(v8::Isolate* iso, v8::Local<v8::Context> ctx, Layout* layout) {
  Trial trial;
  trial.stop.stack_top = StackPointer();
  ReadCode(iso, &trial.stop);
  v8::Local<v8::Function> find;
  v8::Local<v8::Script> script;
  v8::Local<v8::Value> made, klass, loop;
  if (!v8::Function::New(ctx, FindCaller, v8::External::New(iso, &trial)).ToLocal(&find) ||
      !v8::Script::Compile(ctx, Str(iso, "[class {}, (n, find) => { for (let i = 0; i < n; i++); find(); }]"))
           .ToLocal(&script) ||
      !script->Run(ctx).ToLocal(&made) || !made->IsArray() ||
      !made.As<v8::Array>()->Get(ctx, 0).ToLocal(&klass) ||
      !made.As<v8::Array>()->Get(ctx, 1).ToLocal(&loop) || !loop->IsFunction())
    return false;
  uintptr_t cage = Load<uintptr_t>(reinterpret_cast<uintptr_t>(iso) + Internals::kIsolateCageBaseOffset);
  trial.function = AddressOf(loop);
  if (!IsObject(trial.function, cage)) return false;
  layout->function = TypeOf(trial.function, cage);
  layout->constructor = TypeOf(AddressOf(klass), cage);
  uintptr_t cell = Field(trial.function, kFunctionCell, cage);
  if (!IsObject(cell, cage)) return false;
  layout->cell = TypeOf(cell, cage);
  // The first call compiles, and gives the budget.
  layout->undefined = AddressOf(v8::Undefined(iso));
  int32_t left[2] = {};
  for (auto& l : left) {
    v8::Local<v8::Value> argv[] = {v8::Integer::New(iso, 3), find};
    if (loop.As<v8::Function>()->Call(ctx, v8::Undefined(iso), 2, argv).IsEmpty()) return false;
    l = *BudgetOf(cell);
  }
  return trial.found && CellOf(trial.function, cage, *layout) == cell && left[1] < left[0] && left[1] >= 0 && left[0] < 1 << 20;
}

}  // namespace

void InitStop() {
  v8::Isolate::CreateParams params;
  std::unique_ptr<v8::ArrayBuffer::Allocator> alloc(
      v8::ArrayBuffer::Allocator::NewDefaultAllocator());
  params.array_buffer_allocator = alloc.get();
  auto iso = v8::Isolate::New(params);
  {
    v8::Isolate::Scope isolate_scope(iso);
    v8::HandleScope handles(iso);
    auto ctx = v8::Context::New(iso);
    v8::Context::Scope context_scope(ctx);
    Layout layout;
    layout.known = Calibrate(iso, ctx, &layout);
    g_layout = layout;
  }
  v8::platform::NotifyIsolateShutdown(PlatformOfProcess(), iso);
  iso->Dispose();
  if (!g_layout.known) return;
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = OnSignal;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&sa.sa_mask);
  sigaction(Signal(), &sa, nullptr);
}

void InstallStop(edge_instance* inst) {
  ReadCode(inst->iso, &inst->stop);
  inst->iso->AddGCPrologueCallback(
      [](v8::Isolate*, v8::GCType, v8::GCCallbackFlags, void* data) {
        static_cast<edge_instance*>(data)->stop.collecting.store(true);
      },
      inst);
  inst->iso->AddGCEpilogueCallback(
      [](v8::Isolate*, v8::GCType, v8::GCCallbackFlags, void* data) {
        auto inst = static_cast<edge_instance*>(data);
        inst->stop.collecting.store(false);
        // A script that does nothing but collect is hardly ever met elsewhere.
        if (inst->stop.wanted.load()) SpendBudgets(inst, StackPointer(), 0);
        if (inst->sample_asked.load()) TakeSample(inst);
      },
      inst);
}

void StopScript(edge_instance* inst) {
  if (g_layout.known) TheStopper().Add(inst);
}

void StopEnded(edge_instance* inst) {
  if (inst->stop.wanted.load()) TheStopper().Remove(inst);
}

bool StopWorks() { return g_layout.known; }

}  // namespace edge
