/* The BPF programs of off-cpu, compiled for the host, in a simulated kernel. A test makes the calls
 * of the scheduler at times that it sets, and reads what the programs write.
 *
 * There is one kernel, for use in one thread. kernel_reset() clears all state.
 */
#ifndef CTPROF_RECORDED_OFF_CPU_KERNEL_H
#define CTPROF_RECORDED_OFF_CPU_KERNEL_H

#include "tests/recorded/kernel/sched_event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_task;

/* A stack has one frame. Its address shows the kind of wait: at least half a millisecond, shorter,
 * or still in progress. */
enum { KERNEL_LONG_WAIT = 0x1000, KERNEL_SHORT_WAIT = 0x2000, KERNEL_OPEN_WAIT = 0x3000 };
/* Frames of tracing have addresses from here on, leaf first. They occur in stacks that are taken
 * when a thread resumes. */
enum { KERNEL_TRACING = 0x9000 };

struct kernel_settings {
  unsigned long long period_ns;
  unsigned every_stack;
  unsigned all_waits;
  unsigned seed;                 /* of the random numbers */
  unsigned fixed_random;         /* if not 0, replaces all random numbers */
  unsigned max_stack_records;    /* capacity for stacks that were not read yet */
  unsigned max_other_records;    /* the same for records of exits and processes */
  unsigned tracing_frames;       /* at the leaf of stacks taken when a thread resumes */
  unsigned requested_histograms; /* bits of off_histogram */
  unsigned refuses_histograms;   /* there is no memory for histograms */
};

void kernel_reset(const struct kernel_settings* settings);
void kernel_set_clock(unsigned long long now_ns);

/* Creates a thread, which exists until kernel_reset(). */
enum kernel_origin { KERNEL_FORKED, KERNEL_SLEEPS, KERNEL_RUNS };
struct kernel_task* kernel_new_task(const struct sched_task* task, enum kernel_origin origin);

/* Calls of the scheduler. They copy the event's fields into the tasks. Null is the idle task. */
void kernel_switch(const struct sched_event* event, struct kernel_task* previous,
                   struct kernel_task* next);
void kernel_wakeup(const struct sched_event* event, struct kernel_task* task);
void kernel_wakeup_new(const struct sched_event* event, struct kernel_task* task);
void kernel_exec(const struct sched_event* event, struct kernel_task* task);

/* Calls of the reader of records. */
typedef void (*kernel_record_callback)(void* context, const void* record, unsigned long long size);
void kernel_run_task_iterator(unsigned what, kernel_record_callback take, void* context);
void kernel_read_stacks(kernel_record_callback take, void* context);
void kernel_read_other_records(kernel_record_callback take, void* context);
/* Sets the start of the window with this number. */
void kernel_set_window(unsigned number, unsigned long long opened_ns);
unsigned long long kernel_counter(unsigned counter);

#ifdef __cplusplus
}
#endif

#endif
