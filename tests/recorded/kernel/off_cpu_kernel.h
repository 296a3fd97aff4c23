/* The BPF programs of off-cpu, compiled for the host, in a simulated kernel: a test calls what the
 * scheduler would, at a time that it sets, and reads what the programs write.
 *
 * One kernel, one thread. kernel_reset() forgets everything.
 */
#ifndef CTPROF_RECORDED_OFF_CPU_KERNEL_H
#define CTPROF_RECORDED_OFF_CPU_KERNEL_H

#include "tests/recorded/kernel/sched_event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_task;

/* Addresses of the only frame of a stack: of a wait of half a millisecond or more, of a shorter
 * one, and of one that goes on. */
enum { KERNEL_LONG_WAIT = 0x1000, KERNEL_SHORT_WAIT = 0x2000, KERNEL_OPEN_WAIT = 0x3000 };
/* The calls of the functions that take a stack as a thread resumes are at this address and the ones
 * behind it, leaf first. */
enum { KERNEL_TRACING = 0x9000 };

struct kernel_settings {
  unsigned long long period_ns;
  unsigned every_stack;
  unsigned all_waits;
  unsigned seed;           /* of the kernel's random numbers */
  unsigned same_random;    /* instead of those, always this number; 0: none */
  unsigned stacks_room;    /* stacks that find room until they are read */
  unsigned others_room;    /* other records, of threads that exited and of processes */
  unsigned tracing_frames; /* at the leaf of a stack that is taken as a thread resumes */
};

void kernel_reset(const struct kernel_settings* settings);
void kernel_set_clock(unsigned long long now_ns);

/* A thread; it is there until kernel_reset(). */
enum kernel_origin { KERNEL_FORKED, KERNEL_SLEEPS, KERNEL_RUNS };
struct kernel_task* kernel_new_task(const struct sched_task* task, enum kernel_origin origin);

/* The scheduler: the fields of tasks are those of the event. Null is the idle task. */
void kernel_switch(const struct sched_event* event, struct kernel_task* previous,
                   struct kernel_task* next);
void kernel_wakeup(const struct sched_event* event, struct kernel_task* task);
void kernel_birth(const struct sched_event* event, struct kernel_task* task);
void kernel_exec(const struct sched_event* event, struct kernel_task* task);

/* The reader's side. */
typedef void (*kernel_take)(void* context, const void* record, unsigned long long size);
void kernel_look(unsigned what, kernel_take take, void* context);
void kernel_read_stacks(kernel_take take, void* context);
void kernel_read_others(kernel_take take, void* context);
/* The window of this number is to begin then. */
void kernel_set_window(unsigned number, unsigned long long opened_ns);
unsigned long long kernel_counter(unsigned counter);

#ifdef __cplusplus
}
#endif

#endif
