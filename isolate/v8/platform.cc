#include "platform.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

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

void edge_platform_init(const char* flags, size_t flags_len, int workers, bool jump) {
  if (jump) edge::EnableJumps();
  v8::V8::SetFlagsFromString(flags, flags_len);
  // V8 prints about collections to C's stdout before it calls a fatal handler,
  // between the lines of the log. Go does not use that stream.
  if (FILE* nowhere = fopen("/dev/null", "w")) stdout = nowhere;
  edge::g_platform = v8::platform::NewDefaultPlatform(workers).release();
  v8::V8::InitializePlatform(edge::g_platform);
  v8::V8::Initialize();
  v8::V8::SetFatalErrorHandler([](const char* file, int, const char* message) {
    edge::OnFatal(file, message);
  });
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
