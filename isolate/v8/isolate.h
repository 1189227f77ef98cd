// The C surface of isolates: integers and (pointer, length) pairs. Who owns
// memory and which thread may call is said at each declaration.
#ifndef EDGE_ISOLATE_H_
#define EDGE_ISOLATE_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct edge_instance edge_instance;
typedef struct edge_snapshot edge_snapshot;
typedef struct edge_program edge_program;

// Text that C++ allocated with malloc; the receiver frees it.
typedef struct {
  char* data;
  size_t len;
} edge_text;

// ---- snapshot ----

// One JavaScript module of the runtime (borrowed for the call).
typedef struct {
  const char* name;
  size_t name_len;
  const char* source;
  size_t source_len;
} edge_extension;

// One op: its name (borrowed for the call) and mode (0 post, 1 async, 2 sync).
typedef struct {
  const char* name;
  size_t name_len;
  int32_t mode;
} edge_op;

// Evaluates the extensions in order and makes the start-up snapshot. NULL on
// failure, with what went wrong in `error`. One thread, no isolate alive yet.
edge_snapshot* edge_snapshot_new(const edge_extension* exts, size_t n_exts,
                                 const edge_op* ops, size_t n_ops,
                                 edge_text* error);
size_t edge_snapshot_bytes(const edge_snapshot* s);
// Handlers that native_on registered, by number. Memory of the snapshot.
size_t edge_snapshot_handlers(const edge_snapshot* s);
const char* edge_snapshot_handler(const edge_snapshot* s, size_t i, size_t* len);
// No isolate may use it any more.
void edge_snapshot_free(edge_snapshot* s);

// ---- programs ----

typedef struct {
  const char* key;
  size_t key_len;
  int32_t type;  // isolate.ModuleType
  const char* source;
  size_t source_len;
} edge_module;

// Copies the modules. `host` is what edge_go_resolve is called with.
edge_program* edge_program_new(const edge_module* mods, size_t n,
                               const char* main, size_t main_len,
                               uintptr_t host);
void edge_program_free(edge_program* p);
// Stores the code that `inst` has compiled of p, for later isolates. Isolate
// thread, between slices. Returns the bytes stored, 0 when there was nothing.
size_t edge_program_make_cache(edge_program* p, edge_instance* inst);

// ---- isolates ----

typedef struct {
  int64_t heap_used, heap_total, large_objects, buffers, external;
} edge_memory;

typedef struct {
  uint32_t invocation;
  int64_t nanos;
} edge_event_time;

typedef struct {
  int32_t status;  // isolate.Status
  bool jobs_lost;
  bool memory_read;
  uint32_t events;
  const uint8_t* commands;  // memory of the instance, until the next slice
  size_t commands_len;
  const edge_event_time* times;  // likewise
  size_t times_len;
  const char* fatal;  // what V8 said, for status fatal; likewise
  size_t fatal_len;
  int64_t cpu_nanos;
  edge_memory memory;
} edge_slice_result;

typedef struct {
  bool running;
  uint64_t serial;
  uint32_t invocation;
  int64_t event_nanos;
  int64_t slice_nanos;
  edge_memory memory;  // the latest sample, zero when there is none of this slice
} edge_probe;

// Makes an isolate and its context. `host` is what the edge_go_* functions are
// called with. NULL when the snapshot could not be entered.
edge_instance* edge_isolate_new(edge_snapshot* s, int64_t heap_bytes,
                                int64_t buffer_bytes, uintptr_t host);
// Attaches the program that native_import_main loads; p outlives inst.
void edge_isolate_set_program(edge_instance* inst, edge_program* p);
// Runs one slice; see isolate.Isolate. `batch` is borrowed for the call. One
// thread at a time. When V8 gave up, returns status fatal, or never.
void edge_isolate_slice(edge_instance* inst, const uint8_t* batch, size_t len,
                        edge_slice_result* result);
// Any thread. Stops the slice `serial` (0: whichever runs) and reports whether
// it was running.
bool edge_isolate_terminate(edge_instance* inst, uint64_t serial);
// Any thread.
void edge_isolate_probe(edge_instance* inst, edge_probe* out);
// Isolate thread, between slices.
void edge_isolate_idle(edge_instance* inst);
void edge_isolate_memory(edge_instance* inst, edge_memory* out);
// Isolate thread, last call. False when V8 failed at it: then the isolate is
// leaked.
bool edge_isolate_free(edge_instance* inst);
// Live ArrayBuffer bytes of the process, pooled ones included; for leak tests.
int64_t edge_isolate_live(void);

// Called by Go from inside edge_go_sync_op: the result (kind 0) or the error
// (kind 1: class, name, message, code) as encoded values. Copied.
void edge_isolate_sync_result(edge_instance* inst, int32_t kind,
                              const uint8_t* data, size_t len);

#ifdef __cplusplus
}
#endif
#endif  // EDGE_ISOLATE_H_
