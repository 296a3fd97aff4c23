/* sample_cost: the cost of samples for the sampled thread, as its own CPU time for the same work.
 *
 * `sample_cost none`: no samples. `ip`: ids, time and address. `floor COPY`: the minimum that an
 * unwinder needs, four registers and a copy of COPY bytes of the stack; the difference from `ip`
 * is the kernel's own cost. `ours COPY`: the samples of the recorder on-cpu, with the kernel part
 * of the call chain and records of mappings. Prints {"ns": CPU time of the work, "samples": their
 * number}. The ring buffer is not read.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kHz = 10 * 1000, kDepth = 96 * 1024 };
static const uint64_t kIterations = 400 * 1000 * 1000;
static const size_t kRing = 64 << 20;

#if defined(__x86_64__)
static const uint64_t kRegisters = 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;
#else
static const uint64_t kRegisters = 15ULL << 29;
#endif

static void fail(const char* action) {
  perror(action);
  exit(1);
}

static void request_stack_copies(struct perf_event_attr* attr, const char* bytes) {
  attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr->sample_regs_user = kRegisters;
  attr->sample_stack_user = (uint32_t)strtoul(bytes, NULL, 10);
}

/* Same settings as plugins/on-cpu/event.cc. */
static void request_like_recorder(struct perf_event_attr* attr) {
  attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
  attr->sample_max_stack = 127;
  attr->exclude_callchain_user = 1;
  attr->sample_id_all = 1;
  attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
  attr->use_clockid = 1;
  attr->clockid = CLOCK_MONOTONIC;
}

static int open_event(const char* mode, const char* bytes) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_SW_CPU_CLOCK,
                                 .sample_period = 1000000000 / kHz,
                                 .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                                 .disabled = 1};
  if (bytes)
    request_stack_copies(&attr, bytes);
  else
    attr.sample_type |= PERF_SAMPLE_IP;
  if (strcmp(mode, "ours") == 0) request_like_recorder(&attr);
  const int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (event < 0) fail("perf_event_open");
  return event;
}

static uint64_t cpu_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Uses enough stack that a sample can copy its maximum. */
static __attribute__((noinline)) uint64_t work(void) {
  volatile char stack_bytes[kDepth];
  for (size_t i = 0; i < sizeof stack_bytes; i += 64) stack_bytes[i] = 1;
  const uint64_t begin = cpu_ns();
  for (uint64_t i = 0; i < kIterations; ++i) __asm__ volatile("" : : "r"(i));
  return cpu_ns() - begin + (stack_bytes[0] - 1);
}

/* Counts PERF_RECORD_SAMPLE records. None was overwritten, because data_tail is never advanced. */
static unsigned samples_in(const struct perf_event_mmap_page* page, const char* data) {
  unsigned samples = 0;
  for (uint64_t offset = 0; offset < page->data_head;) {
    const struct perf_event_header* const header = (const struct perf_event_header*)(data + offset);
    if (header->size == 0) break;
    samples += header->type == PERF_RECORD_SAMPLE;
    offset += header->size;
  }
  return samples;
}

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return 2;
  if (strcmp(arguments[1], "none") == 0) {
    printf("{\"ns\": %lu, \"samples\": 0}\n", (unsigned long)work());
    return 0;
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const int event = open_event(arguments[1], arguments[2]);
  char* const ring = mmap(NULL, page + kRing, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (ring == MAP_FAILED) fail("mmap");
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  const uint64_t ns = work();
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  printf("{\"ns\": %lu, \"samples\": %u}\n", (unsigned long)ns,
         samples_in((const struct perf_event_mmap_page*)ring, ring + page));
  return 0;
}
