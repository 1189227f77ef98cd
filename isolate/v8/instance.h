// What the C++ files of this package share: the instance behind an isolate, its
// allocator, and the hooks of the snapshot.
#ifndef EDGE_INSTANCE_H_
#define EDGE_INSTANCE_H_
#include <time.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "contain.h"
#include "isolate.h"
#include "v8.h"
#include "value.h"

namespace edge {

// Counts the ArrayBuffer bytes of one isolate and refuses above a limit. Blocks
// up to 256 KiB come from a pool of the process, since fresh pages of V8's
// sandbox cost more than the copy into them. Any thread.
class CountingAllocator final : public v8::ArrayBuffer::Allocator {
 public:
  explicit CountingAllocator(int64_t limit) : limit_(limit) {}
  void* Allocate(size_t n) override;
  void* AllocateUninitialized(size_t n) override;
  void Free(void* p, size_t n) override;
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  void set_limit(int64_t n) { limit_ = n; }

 private:
  bool Take(size_t n);
  std::atomic<int64_t> used_{0};
  int64_t limit_;
};

// ASCII text outside of every heap. It lives as long as its owner and is never
// disposed of by V8. Any thread.
class SharedSource final : public v8::String::ExternalOneByteStringResource {
 public:
  explicit SharedSource(std::string text) : text_(std::move(text)) {}
  const char* data() const override { return text_.data(); }
  size_t length() const override { return text_.size(); }
  void Dispose() override {}

 private:
  std::string text_;
};

// A module that an isolate has loaded.
struct LoadedModule {
  std::string key;
  v8::Global<v8::Module> module;
};

// A promise rejection seen by V8 and not yet reported.
struct Rejection {
  int type;  // 0 rejected without a handler, 1 handler added later
  v8::Global<v8::Promise> promise;
  v8::Global<v8::Value> reason;
};

}  // namespace edge

struct edge_snapshot {
  v8::StartupData blob{nullptr, 0};
  // The sources of the extensions: all isolates read the same text, which the
  // snapshot refers to in place of holding it.
  std::vector<std::unique_ptr<edge::SharedSource>> sources;
  std::vector<intptr_t> references;  // callbacks and sources, null-terminated
  std::vector<std::string> handlers;
  std::vector<std::string> builtins;  // specifiers of native_builtin
  size_t first_builtin = 0;           // their place in the context's data
  bool has_unhandled = false;
  bool has_dom_exception = false;
};

struct edge_program {
  struct Source {
    std::string key;
    int32_t type;
    std::string text;
    bool ascii;
    // The code cache; set once, then only read.
    std::vector<uint8_t> cache;
    std::atomic<bool> cached{false};
  };
  std::vector<std::unique_ptr<Source>> modules;
  std::unordered_map<std::string, Source*> by_key;
  std::string main;
  uintptr_t host = 0;
  std::mutex cache_mu;
};

// One isolate and what belongs to it. Its thread only, except where said.
struct edge_instance {
  v8::Isolate* iso = nullptr;
  edge_snapshot* snapshot = nullptr;
  edge_program* program = nullptr;
  uintptr_t host = 0;
  std::unique_ptr<edge::CountingAllocator> alloc;
  v8::Global<v8::Context> context;
  std::vector<v8::Global<v8::Function>> handlers;
  std::unordered_map<std::string, v8::Global<v8::Object>> builtins;
  v8::Global<v8::Function> unhandled;
  v8::Global<v8::Function> dom_exception;

  std::vector<v8::Global<v8::Promise::Resolver>> promises;  // by id - 1
  std::vector<uint32_t> free_promises;
  // Identity hash of a v8::Module -> what it is; and key -> index.
  std::vector<edge::LoadedModule> modules;
  std::unordered_multimap<int, size_t> module_by_hash;
  std::unordered_map<std::string, size_t> module_by_key;
  // What code caches are made from; V8 gives it out before evaluation only.
  std::unordered_map<std::string, v8::Global<v8::UnboundModuleScript>> unbound;
  std::vector<edge::Rejection> rejections;

  edge::Writer out;
  edge::Writer scratch;
  size_t out_limit = 0;
  std::vector<edge_event_time> times;
  int32_t sync_kind = 0;
  std::vector<uint8_t> sync_result;

  bool dead = false;          // V8 gave up: only to be disposed of
  std::string fatal;          // what it said
  bool heap_hit = false;      // the heap limit was reached
  bool heap_raised = false;   // its one extension was given
  bool last_slice_long = true;
  uint32_t slices = 0;

  // A collection is under way, with the help of other threads.
  std::atomic<bool> collecting{false};

  // Shared with Probe and Terminate; guarded by mu.
  std::mutex mu;
  bool running = false;
  bool terminate_requested = false;
  uint64_t serial = 0;
  clockid_t clock{};
  int64_t start_mono = 0;
  int64_t start_cpu = 0;     // 0: not read
  int64_t probe_mono = 0;    // first probe of this slice, when start_cpu is 0
  int64_t probe_cpu = 0;
  edge_memory sample{};      // taken inside slice sample_serial
  uint64_t sample_serial = 0;
  std::atomic<bool> sample_asked{false};
  std::atomic<uint32_t> invocation{0};   // whose event runs
  std::atomic<int64_t> event_mono{0};    // when it began

  // Lets go of everything in the heap.
  void ResetHandles() {
    handlers.clear();
    builtins.clear();
    unhandled.Reset();
    dom_exception.Reset();
    promises.clear();
    modules.clear();
    unbound.clear();
    rejections.clear();
    context.Reset();
  }

  static edge_instance* Of(v8::Isolate* iso) {
    return static_cast<edge_instance*>(iso->GetData(0));
  }
};

namespace edge {

// State of the snapshot that is being made; null otherwise. Natives behave
// inertly then: ops do nothing, async ones stay pending.
struct Building {
  std::vector<std::string> handler_names;
  std::vector<v8::Global<v8::Function>> handlers;
  std::vector<std::string> builtin_names;
  std::vector<v8::Global<v8::Object>> builtins;
  v8::Global<v8::Function> unhandled;
  v8::Global<v8::Function> dom_exception;
};
extern Building* building;

// The functions that JavaScript sees as native_*.
struct Native {
  const char* name;
  v8::FunctionCallback callback;
};
extern const Native kTextNatives[];
extern const Native kCloneNatives[];
extern const Native kInspectNatives[];
extern const Native kRuntimeNatives[];
extern const Native kUrlNatives[];
void OpCallback(const v8::FunctionCallbackInfo<v8::Value>& info);
// The callbacks that a snapshot with them refers to, without the final null.
std::vector<intptr_t> CallbackReferences();

// Makes the error of four values: class, name, message, code.
v8::Local<v8::Value> MakeError(edge_instance* inst, v8::Local<v8::Context> ctx,
                               v8::Local<v8::Value>* argv);

// Hooks that every isolate gets.
void InstallHooks(edge_instance* inst);
v8::MaybeLocal<v8::Promise> ImportMain(edge_instance* inst,
                                       v8::Local<v8::Context> ctx);
v8::MaybeLocal<v8::Promise> ImportDynamically(
    v8::Local<v8::Context> ctx, v8::Local<v8::Data> options,
    v8::Local<v8::Value> referrer, v8::Local<v8::String> specifier,
    v8::Local<v8::FixedArray> attributes);
void InitImportMeta(v8::Local<v8::Context> ctx, v8::Local<v8::Module> module,
                    v8::Local<v8::Object> meta);

// The instance whose slice runs on this thread, null outside.
extern thread_local edge_instance* current;

// Takes the sample of the heap that Probe asked for, inside a slice.
void TakeSample(edge_instance* inst);

int64_t MonoNanos();
int64_t CPUNanos(clockid_t clock);

v8::Local<v8::String> Str(v8::Isolate* iso, const char* s);
std::string ToUTF8(v8::Isolate* iso, v8::Local<v8::Value> s);
void ThrowTypeError(v8::Isolate* iso, const std::string& message);

v8::Platform* PlatformOfProcess();

}  // namespace edge
#endif  // EDGE_INSTANCE_H_
