#define __bpf__ /* use the types of the programs */
#define OFF_CPU_WITHOUT_WALK
#define OFF_CPU_HISTOGRAM_SETTING /* can be changed */
#include "plugins/off-cpu/off_cpu.bpf.c"
/* The programs must come first: they include the helpers that replace libbpf's. */
#include "tests/recorded/kernel/off_cpu_kernel.h"

enum { kCpus = 64, kMostTasks = 4096, kMostRecords = 65536 };
enum { kLongWait = 500000 };

void* malloc(__SIZE_TYPE__ size);
void free(void* memory);

struct kernel_task {
  struct task_struct task; /* first, so that the pointers can be converted */
  struct cfs_rq queue_of;
  struct rq queue;
  struct mm_struct memory;
  struct pt_regs registers;
  struct signal_struct group;
  struct off_thread thread;
  struct off_histogram_pair histograms;
  int is_known, has_histograms, has_run, has_exited;
};

/* A record in a ring buffer. */
struct ring_record {
  void* map;
  __u64 size;
  char bytes[sizeof(struct off_stack)];
};

static struct kernel_task* tasks[kMostTasks];
static unsigned task_count;
static struct task_struct idle;
static struct off_per_cpu cpu_states[kCpus];
static struct ring_record* records[kMostRecords];
static unsigned record_count, stack_count, max_stack_records, max_other_records;
static unsigned cpu;
static __u64 clock_ns;
static __u32 random_state, fixed_random;
static unsigned tracing_frames, refuses_histograms;
static struct task_struct* current;
static kernel_record_callback seq_take;
static void* seq_context;

/* --- BPF helpers that the programs call --- */

void* bpf_map_lookup_elem(void* map, const void* key) {
  (void)key;
  return map == (void*)&cpus ? &cpu_states[cpu] : 0;
}
long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags) {
  (void)map, (void)key, (void)value, (void)flags;
  return -1;
}
long bpf_map_delete_elem(void* map, const void* key) {
  (void)map, (void)key;
  return -1;
}
void* bpf_task_storage_get(void* map, struct task_struct* task, void* value, __u64 flags) {
  struct kernel_task* of = (struct kernel_task*)task;
  if (task == &idle) return 0;
  if (map == (void*)&histograms) {
    of->has_histograms |= (flags & BPF_LOCAL_STORAGE_GET_F_CREATE) != 0 && !refuses_histograms;
    return of->has_histograms ? &of->histograms : 0;
  }
  if (map != (void*)&threads) return 0;
  if (!of->is_known && !(flags & BPF_LOCAL_STORAGE_GET_F_CREATE)) return 0;
  if (!of->is_known) of->thread = *(const struct off_thread*)value;
  of->is_known = 1;
  return &of->thread;
}
void* bpf_ringbuf_reserve(void* map, __u64 size, __u64 flags) {
  (void)flags;
  if (map == (void*)&stacks && stack_count >= max_stack_records) return 0;
  if (map != (void*)&stacks && record_count - stack_count >= max_other_records) return 0;
  if (record_count == kMostRecords || size > sizeof(struct off_stack)) return 0;
  struct ring_record* record = malloc(sizeof *record);
  record->map = map;
  record->size = size;
  records[record_count++] = record;
  stack_count += map == (void*)&stacks;
  return record->bytes;
}
void bpf_ringbuf_submit(void* record, __u64 flags) { (void)record, (void)flags; }
long bpf_seq_write(struct seq_file* file, const void* data, __u32 size) {
  (void)file;
  seq_take(seq_context, data, size);
  return 0;
}
long bpf_get_stack(void* context, void* buffer, __u32 size, __u64 flags) {
  (void)context, (void)buffer, (void)size, (void)flags;
  return -1;
}
long bpf_get_task_stack(struct task_struct* task, void* buffer, __u32 size, __u64 flags) {
  const struct off_thread* thread = &((struct kernel_task*)task)->thread;
  (void)size, (void)flags;
  __u64 *first = buffer, *place = first;
  /* A running thread that takes its own stack has frames of tracing. */
  for (unsigned i = 0; task == current && i < tracing_frames; ++i)
    *place++ = KERNEL_TRACING + i + 1;
  *place = thread->state < OFF_WAIT_STATES                        ? KERNEL_OPEN_WAIT
           : thread->state_start - thread->departure >= kLongWait ? KERNEL_LONG_WAIT
                                                                  : KERNEL_SHORT_WAIT;
  return (char*)(place + 1) - (char*)first;
}
long bpf_task_pt_regs(struct task_struct* task) {
  return (long)&((struct kernel_task*)task)->registers;
}
struct task_struct* bpf_get_current_task_btf(void) {
  return current;
}
__u64 bpf_get_current_task(void) { return (__u64)current; }
long bpf_probe_read_user(void* to, __u32 size, const void* from) {
  (void)from;
  __builtin_memset(to, 0, size);
  return 0;
}
long bpf_probe_read_kernel(void* to, __u32 size, const void* from) {
  __builtin_memcpy(to, from, size);
  return 0;
}
__u64 bpf_ktime_get_ns(void) { return clock_ns; }
/* xorshift: gives the same numbers in each run. */
__u32 bpf_get_prandom_u32(void) {
  if (fixed_random != 0) return fixed_random;
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

/* --- functions for tests --- */

void kernel_reset(const struct kernel_settings* settings) {
  for (unsigned i = 0; i < task_count; ++i) free(tasks[i]);
  for (unsigned i = 0; i < record_count; ++i) free(records[i]);
  task_count = record_count = stack_count = 0;
  __builtin_memset(cpu_states, 0, sizeof cpu_states);
  __builtin_memset(window_opened, 0, sizeof window_opened);
  window_number = 0;
  iterator_purpose = OFF_FIRST_PASS;
  period_ns = settings->period_ns;
  every_stack = settings->every_stack;
  all_waits = settings->all_waits;
  random_state = settings->seed * 2654435761u + 1;
  fixed_random = settings->fixed_random;
  max_stack_records = settings->max_stack_records;
  max_other_records = settings->max_other_records;
  tracing_frames = settings->tracing_frames;
  has_histograms = settings->requested_histograms != 0;
  refuses_histograms = settings->refuses_histograms;
  clock_ns = 0;
  current = &idle;
}

void kernel_set_clock(unsigned long long now_ns) { clock_ns = now_ns; }

static void update_task(struct kernel_task* of, const struct sched_task* from) {
  of->task.pid = (int)from->tid;
  of->task.tgid = (int)from->tgid;
  of->task.__state = from->state;
  of->task.flags = from->flags;
  of->task.start_boottime = from->start_boottime;
  of->task.se.sum_exec_runtime = from->ran;
  of->task.sched_info.last_queued = from->last_queued;
  of->queue.clock = from->queue_clock;
}

struct kernel_task* kernel_new_task(const struct sched_task* task, enum kernel_origin origin) {
  struct kernel_task* of = malloc(sizeof *of);
  if (task_count == kMostTasks) return 0;
  __builtin_memset(of, 0, sizeof *of);
  update_task(of, task);
  of->has_run = origin != KERNEL_FORKED;
  of->task.on_cpu = origin == KERNEL_RUNS;
  if (origin == KERNEL_SLEEPS) of->task.__state = 1; /* TASK_INTERRUPTIBLE */
  of->task.se.cfs_rq = &of->queue_of;
  of->queue_of.rq = &of->queue;
  of->task.mm = &of->memory;
  of->task.signal = &of->group;
  of->task.real_parent = &idle;
  of->registers.cs = 0x33; /* 64-bit mode */
  tasks[task_count++] = of;
  return of;
}

/* As in the kernel, the first run of a new thread starts in fork and not where threads resume. */
void kernel_switch(const struct sched_event* event, struct kernel_task* previous,
                   struct kernel_task* next) {
  struct task_struct* from = previous ? &previous->task : &idle;
  struct task_struct* to = next ? &next->task : &idle;
  __u64 arguments[] = {event->is_preempted, (__u64)from, (__u64)to, event->why};
  if (previous) update_task(previous, &event->previous);
  if (next) update_task(next, &event->next);
  cpu = event->cpu % kCpus;
  clock_ns = event->at;
  on_switch(arguments);
  from->on_cpu = 0;
  to->on_cpu = 1;
  if (previous && (event->why & kDead)) previous->has_exited = 1;
  current = to;
  if (next && next->has_run) on_resume(0);
  if (next) next->has_run = 1;
}

static __u64* at_event(const struct sched_event* event, struct kernel_task* task) {
  static __u64 arguments[2];
  update_task(task, &event->next);
  cpu = event->cpu % kCpus;
  clock_ns = event->at;
  arguments[0] = (__u64)&task->task;
  arguments[1] = event->why;
  return arguments;
}

void kernel_wakeup(const struct sched_event* event, struct kernel_task* task) {
  on_wakeup(at_event(event, task));
}
void kernel_wakeup_new(const struct sched_event* event, struct kernel_task* task) {
  on_wakeup_new(at_event(event, task));
}
void kernel_exec(const struct sched_event* event, struct kernel_task* task) {
  task->has_run = 1;
  on_exec(at_event(event, task));
}

void kernel_run_task_iterator(unsigned what, kernel_record_callback take, void* context) {
  iterator_purpose = what;
  seq_take = take;
  seq_context = context;
  for (unsigned i = 0; i < task_count; ++i) {
    struct bpf_iter_meta meta = {0};
    struct bpf_iter__task step = {&meta, &tasks[i]->task};
    if (!tasks[i]->has_exited) visit_with_storage(&step);
  }
}

static void read_map(void* map, kernel_record_callback take, void* context) {
  unsigned left = 0;
  for (unsigned i = 0; i < record_count; ++i) {
    if (records[i]->map != map) {
      records[left++] = records[i];
      continue;
    }
    take(context, records[i]->bytes, records[i]->size);
    free(records[i]);
  }
  record_count = left;
}

void kernel_read_stacks(kernel_record_callback take, void* context) {
  read_map(&stacks, take, context);
  stack_count = 0;
}
void kernel_read_other_records(kernel_record_callback take, void* context) {
  read_map(&other_records, take, context);
}

void kernel_set_window(unsigned number, unsigned long long opened_ns) {
  window_opened[number % OFF_WINDOWS] = opened_ns;
  window_number = number;
}

unsigned long long kernel_counter(unsigned counter) {
  unsigned long long sum = 0;
  for (unsigned i = 0; i < kCpus; ++i) sum += cpu_states[i].counters[counter];
  return sum;
}
