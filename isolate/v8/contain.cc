#include "contain.h"

#include <stdio.h>
#include <unistd.h>

#include "export.h"
#include "instance.h"

namespace edge {
namespace {

std::atomic<bool> g_jumps{false};
thread_local JumpPoint* t_point = nullptr;
thread_local char t_reason[256] = "";

edge_instance* CurrentInstance() {
  if (current != nullptr) return current;
  auto iso = v8::Isolate::TryGetCurrent();
  return iso ? edge_instance::Of(iso) : nullptr;
}

// Whether other threads may still use what lies on this one's stack: those that
// help with a collection.
bool HasHelpers(edge_instance* inst, const char* location) {
  if (!inst->collecting.load(std::memory_order_relaxed)) return false;
  // Said at the end of a collection, when the helpers are done.
  return strstr(location, "Ineffective mark-compacts") == nullptr;
}

// Leaving V8's frames is no supported way out, but the frames that are left
// belong to one isolate, which is disposed of next. Where that is not so, Go is
// told and the thread is kept for good.
[[noreturn]] void GiveUp(const char* location, const char* message) {
  if (location == nullptr) location = "";
  if (message == nullptr) message = "";
  edge_instance* inst = CurrentInstance();
  if (g_jumps.load(std::memory_order_relaxed) && t_point != nullptr && inst != nullptr &&
      !HasHelpers(inst, location)) {
    snprintf(t_reason, sizeof t_reason, "%s: %s", location, message);
    siglongjmp(t_point->buf, 1);
  }
  edge_go_fatal(inst ? inst->host : 0, const_cast<char*>(location), const_cast<char*>(message));
  for (;;) pause();
}

}  // namespace

void OnFatal(const char* location, const char* message) { GiveUp(location, message); }

void OnOOM(const char* location, const v8::OOMDetails& details) {
  GiveUp(location, details.detail ? details.detail : "out of memory");
}

JumpPoint::JumpPoint() : previous_(t_point) { t_point = this; }
JumpPoint::~JumpPoint() { t_point = previous_; }

void EnableJumps() { g_jumps.store(true); }

const char* LastFatal() { return t_reason; }

}  // namespace edge
