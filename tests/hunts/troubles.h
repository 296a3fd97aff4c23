/* Shared by the programs that cause problems (troubles.c): the kinds of each family, and functions
 * that several families use. Each file with a family describes its kinds. */
#ifndef CTPROF_TESTS_HUNTS_TROUBLES_H
#define CTPROF_TESTS_HUNTS_TROUBLES_H

#include <stdint.h>

#include "kinds.h"

/* The last kind of a family has no name. */
extern const struct kind cpu_kinds[], memory_kinds[], disk_kinds[], peer_kinds[];

enum { kBlockBytes = 64 * 1024 };
static const int64_t kUs = 1000, kMs = 1000 * 1000, kSecond = 1000 * 1000 * 1000;

int64_t cpu_time(void);   /* of the thread, in ns */
void run_for(int64_t ns); /* until the thread has used this CPU time */
void sleep_for(int64_t ns);
void pin_to_last_cpu(pthread_t thread);

/* Bodies of threads. */
void* run_forever(void* unused);
void* sleep_forever(void* unused);

#endif
