// Functions that Go exports to C++. Each recovers panics.
#ifndef EDGE_EXPORT_H_
#define EDGE_EXPORT_H_
#include "isolate.h"
#ifdef __cplusplus
extern "C" {
#endif

// Runs a Sync op; the result is handed over with edge_isolate_sync_result
// before it returns. Isolate thread.
extern void edge_go_sync_op(uintptr_t host, edge_instance* inst, uint32_t op,
                            uint32_t invocation, uint8_t* args, size_t len,
                            uint32_t argc);
// Maps an import to a module's key, or gives the error's text (returns false).
// `out` is malloc memory, freed by the caller.
extern int edge_go_resolve(uintptr_t program, char* spec, size_t spec_len,
                           char* referrer, size_t referrer_len, char* type,
                           size_t type_len, edge_text* out);
// V8 gave up on the instance of `host`; the thread is lost afterwards.
extern void edge_go_fatal(uintptr_t host, char* location, char* message);
// Domain to ASCII for hosts that need IDNA. `out` as above.
extern int edge_go_domain_to_ascii(char* domain, size_t len, edge_text* out);

#ifdef __cplusplus
}
#endif
#endif  // EDGE_EXPORT_H_
