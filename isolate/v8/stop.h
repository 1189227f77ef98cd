// Stopping scripts that do not look whether they should stop.
#ifndef EDGE_STOP_H_
#define EDGE_STOP_H_
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

struct edge_instance;

namespace edge {

struct CodeRange {
  uintptr_t from = 0, size = 0;
  bool Has(uintptr_t p) const { return p - from < size; }
};

// What the signal handler has to know about an instance.
struct StopState {
  std::atomic<bool> wanted{false};      // the script shall end
  std::atomic<bool> collecting{false};  // a collection moves objects
  int rounds = 0;                       // signals seen in vain; its thread's
  pthread_t thread{};                   // of the slice; guarded by the instance's mu
  uintptr_t stack_top = 0;              // V8's frames of this slice are below
  CodeRange builtins, code, entries[3];
};

// Installs the signal handler and finds out whether the linked V8 is laid out as
// stop.cc expects; if not, a termination relies on V8 alone. Once, after V8 was
// started.
void InitStop();
bool StopWorks();

// Makes an isolate note its collections.
void InstallStop(edge_instance* inst);

// Asks for the script's end, and goes on asking until its slice has ended. mu of
// the instance is not held.
void StopScript(edge_instance* inst);

// The slice has ended. mu of the instance is not held. Isolate thread.
void StopEnded(edge_instance* inst);

}  // namespace edge
#endif  // EDGE_STOP_H_
