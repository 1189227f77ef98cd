// The process-wide part of V8: flags, platform, fatal handlers, Wasm traps.
#ifndef EDGE_PLATFORM_H_
#define EDGE_PLATFORM_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Starts V8 once for the process. `flags` (borrowed) are V8 command line flags
// separated by spaces. `jump` leaves a slice in which V8 gave up instead of
// keeping its thread. Any thread; not twice.
void edge_platform_init(const char* flags, size_t flags_len, int workers,
                        bool jump);

// Installs a SIGSEGV handler that turns out-of-bounds accesses of Wasm code into
// traps and hands every other fault to the handler that was there (Go's). Before
// the first isolate. Reports whether V8 accepted.
bool edge_platform_wasm_traps(void);

// The version of the linked V8, such as "13.6.233.10". Static memory.
const char* edge_platform_version(void);

// Gives free malloc memory back to the system; for after mass eviction.
void edge_platform_trim(void);

#ifdef __cplusplus
}
#endif
#endif  // EDGE_PLATFORM_H_
