/* defers: tests whether this kernel defers the user part of call chains until a thread returns to
 * user space.
 *
 * Samples itself while it reads /dev/zero, and prints `OPENED SAMPLES CHAINS`: 1 if the kernel
 * accepts such an event, else 0; the number of samples with a deferred user part; and the number of
 * chains that the kernel delivered later.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPages = 64, kRounds = 2000, kChainRecord = 22 };
static const uint64_t kDeferBits = 3ULL << 38, kUserDeferredMark = (uint64_t)-640;

static int open_event(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_SW_CPU_CLOCK,
                                 .sample_period = 1000 * 1000,
                                 .sample_type = PERF_SAMPLE_CALLCHAIN,
                                 .disabled = 1};
  uint64_t bits = 0;
  char* const word =
      (char*)&attr + offsetof(struct perf_event_attr, read_format) + sizeof attr.read_format;
  memcpy(&bits, word, sizeof bits);
  bits |= kDeferBits;
  memcpy(word, &bits, sizeof bits);
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void read_zeros(void) {
  static char buffer[1 << 16];
  const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < kRounds; ++i)
    if (read(file, buffer, sizeof buffer) < 0) break;
  close(file);
}

/* Returns whether the sample's chain contains the mark of a deferred user part. */
static int has_deferred_user_part(const struct perf_event_header* header) {
  const uint64_t* const words = (const uint64_t*)(header + 1);
  const size_t word_count = (header->size - sizeof *header) / sizeof *words;
  for (size_t i = 0; i < word_count; ++i)
    if (words[i] == kUserDeferredMark) return 1;
  return 0;
}

/* The ring is larger than all records, so reading it once is enough. */
static void count_records(const struct perf_event_mmap_page* page, const char* data,
                          unsigned* samples, unsigned* chains) {
  for (uint64_t at = 0; at < page->data_head;) {
    const struct perf_event_header* const header = (const struct perf_event_header*)(data + at);
    if (header->size == 0 || at + header->size > (uint64_t)kPages * (uint64_t)sysconf(_SC_PAGESIZE))
      return;
    if (header->type == PERF_RECORD_SAMPLE && has_deferred_user_part(header)) ++*samples;
    if (header->type == kChainRecord) ++*chains;
    at += header->size;
  }
}

int main(void) {
  unsigned samples = 0, chains = 0;
  const int event = open_event();
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const ring =
      event < 0 ? MAP_FAILED
                : mmap(NULL, (1 + kPages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (ring != MAP_FAILED) {
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    read_zeros();
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    count_records((const struct perf_event_mmap_page*)ring, ring + page, &samples, &chains);
  }
  printf("%d %u %u\n", event >= 0, samples, chains);
  return 0;
}
