// Containing V8's fatal errors: an instance ends, the process goes on.
#ifndef EDGE_CONTAIN_H_
#define EDGE_CONTAIN_H_
#include <setjmp.h>

#include "v8.h"

struct edge_instance;

namespace edge {

// The handlers for fatal errors, for CreateParams and V8::SetFatalErrorHandler.
// They do not return: they leave the guarded call that runs on this thread, or,
// without one, keep the thread for good.
void OnFatal(const char* location, const char* message);
void OnOOM(const char* location, const v8::OOMDetails& details);

// A place that a fatal error may be left to. One thread's, innermost first.
class JumpPoint {
 public:
  JumpPoint();
  ~JumpPoint();
  JumpPoint(const JumpPoint&) = delete;
  JumpPoint& operator=(const JumpPoint&) = delete;
  sigjmp_buf buf;

 private:
  JumpPoint* previous_;
};

// Runs f and reports whether it came back. If V8 gave up, f's frames are left
// without their destructors: what they own is lost, and inst must not run again.
// Frames outside, such as those that entered the isolate, go on as usual.
template <class F>
__attribute__((noinline)) bool Guarded(F&& f) {
  JumpPoint here;
  if (sigsetjmp(here.buf, 0) != 0) return false;
  f();
  return true;
}

// Lets guarded calls be left from now on. Without it each fatal error keeps its
// thread.
void EnableJumps();

// What V8 said when the last guarded call of this thread was left.
const char* LastFatal();

}  // namespace edge
#endif  // EDGE_CONTAIN_H_
