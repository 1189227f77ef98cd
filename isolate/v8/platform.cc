#include "platform.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "export.h"
#include "instance.h"
#include "libplatform/libplatform.h"
#include "v8-wasm-trap-handler-posix.h"

static_assert(V8_MAJOR_VERSION == 13 && V8_MINOR_VERSION == 6,
              "isolate/v8/include points at other headers than the linked V8: "
              "run 'go generate ./isolate/v8'");

namespace edge {

thread_local edge_instance* current = nullptr;

namespace {

v8::Platform* g_platform = nullptr;
struct sigaction g_previous_segv;

// Tells Go, then keeps the thread for good: V8's state on it is undefined, and
// unwinding is no supported way out.
[[noreturn]] void Park(const char* location, const char* message) {
  edge_instance* inst = current;
  if (inst == nullptr) {
    if (auto iso = v8::Isolate::TryGetCurrent()) inst = edge_instance::Of(iso);
  }
  edge_go_fatal(inst ? inst->host : 0, const_cast<char*>(location ? location : ""),
                const_cast<char*>(message ? message : ""));
  for (;;) pause();
}

void OnSegv(int sig, siginfo_t* info, void* context) {
  if (v8::TryHandleWebAssemblyTrapPosix(sig, info, context)) return;
  if (g_previous_segv.sa_flags & SA_SIGINFO) {
    g_previous_segv.sa_sigaction(sig, info, context);
  } else if (g_previous_segv.sa_handler == SIG_DFL) {
    signal(sig, SIG_DFL);  // the fault repeats and ends the process
  } else if (g_previous_segv.sa_handler != SIG_IGN) {
    g_previous_segv.sa_handler(sig);
  }
}

}  // namespace

void OnFatal(const char* location, const char* message) { Park(location, message); }

void OnOOM(const char* location, const v8::OOMDetails& details) {
  Park(location, details.detail ? details.detail : "out of memory");
}

v8::Platform* PlatformOfProcess() { return g_platform; }

int64_t MonoNanos() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

int64_t CPUNanos(clockid_t clock) {
  timespec t;
  if (clock_gettime(clock, &t) != 0) return 0;
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace edge

void edge_platform_init(const char* flags, size_t flags_len, int workers) {
  v8::V8::SetFlagsFromString(flags, flags_len);
  edge::g_platform = v8::platform::NewDefaultPlatform(workers).release();
  v8::V8::InitializePlatform(edge::g_platform);
  v8::V8::Initialize();
  v8::V8::SetFatalErrorHandler([](const char* file, int, const char* message) {
    edge::Park(file, message);
  });
  edge::InitStop();
}

bool edge_platform_wasm_traps(void) {
  if (!v8::V8::EnableWebAssemblyTrapHandler(false)) return false;
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = edge::OnSegv;
  sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&sa.sa_mask);
  return sigaction(SIGSEGV, &sa, &edge::g_previous_segv) == 0;
}

const char* edge_platform_version(void) { return v8::V8::GetVersion(); }

void edge_platform_trim(void) { malloc_trim(0); }
