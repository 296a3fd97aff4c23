/* Plugins that violate the contract in one place each. The macros that meson.build defines for a
 * plugin replace those of sound_plugin.h; this file adds the functions that some of them name.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

#include "ctprof/abi.h"

#define COLLECTOR(name) \
  __attribute__((unused)) static int32_t name(void* worker, struct ctprof_batch* batch)
#define OPENER(name)                                                                         \
  __attribute__((unused)) static int32_t name(const struct ctprof_host* host, void** worker, \
                                              char* message, size_t message_size)

COLLECTOR(collect_half);
COLLECTOR(collect_all_but_one);
COLLECTOR(collect_nothing);
COLLECTOR(write_unknown_gaps);
COLLECTOR(claim_values);
COLLECTOR(put_text);
COLLECTOR(put_histogram);
COLLECTOR(put_text_behind_last_row);
COLLECTOR(put_text_into_second_offer);
COLLECTOR(count_in_unknown_tally);
COLLECTOR(pause_first);
COLLECTOR(open_and_forget);
COLLECTOR(allocate_and_forget);
COLLECTOR(count_down);
COLLECTOR(write_negative);
COLLECTOR(write_percentage);
COLLECTOR(write_date);
COLLECTOR(count_bucket_down);
COLLECTOR(count_key_down);
COLLECTOR(start_thread_and_forget);
COLLECTOR(map_and_forget);
COLLECTOR(allocate_block_and_forget);
COLLECTOR(handle_signal);
COLLECTOR(start_timer);
COLLECTOR(change_environment);
COLLECTOR(change_limit);
COLLECTOR(close_standard_input);
COLLECTOR(execute_program);
COLLECTOR(print_to_standard_error);
COLLECTOR(block);
int32_t undefined_function(void* worker, struct ctprof_batch* batch);
OPENER(refuse_to_open);
OPENER(open_all_descriptors);

#include "sound_plugin.h"

/* Fails after half of the rows. */
COLLECTOR(collect_half) {
  (void)worker;
  fill_tids(batch, batch->rows / 2);
  batch->rows_done = batch->rows / 2;
  strncpy(batch->message, "the second half is missing", batch->message_size - 1);
  return 1;
}

/* Reports one row fewer than the batch has. */
COLLECTOR(collect_all_but_one) {
  collect_tids(worker, batch);
  batch->rows_done = batch->rows - 1;
  return 0;
}

/* Reports that all rows are done, but leaves their cells untouched. */
COLLECTOR(collect_nothing) {
  (void)worker;
  batch->rows_done = batch->rows;
  return 0;
}

/* Writes a gap that no version of the ABI has. */
COLLECTOR(write_unknown_gaps) {
  (void)worker;
  for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row)
    batch->cells[0].gaps[row] = 200;
  batch->rows_done = batch->rows;
  return 0;
}

/* Reports that cells contain texts or maps, but never puts any. */
COLLECTOR(claim_values) {
  (void)worker;
  for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row)
    batch->cells[0].gaps[row] = CTPROF_VALUE;
  batch->rows_done = batch->rows;
  return 0;
}

/* Violates nothing: each row counts its id once, and 5 twice. */
COLLECTOR(put_histogram) {
  (void)worker;
  const uint64_t* tids = batch->inputs[0].values;
  for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row) {
    uint64_t buckets[CTPROF_HISTOGRAM_BUCKETS] = {0};
    buckets[ctprof_histogram_bucket(5)] += 2;
    ++buckets[ctprof_histogram_bucket(tids[row])];
    batch->put_array(batch->core, 0, row, buckets, CTPROF_HISTOGRAM_BUCKETS);
  }
  batch->rows_done = batch->rows;
  return 0;
}

static void put_texts(struct ctprof_batch* batch, uint32_t offer, uint32_t first_row) {
  for (uint32_t row = 0; row < batch->rows; ++row)
    batch->put_text(batch->core, offer, first_row + row, "astray", 6);
  batch->rows_done = batch->rows;
}

COLLECTOR(put_text) {
  (void)worker;
  put_texts(batch, 0, 0);
  return 0;
}

COLLECTOR(put_text_behind_last_row) {
  (void)worker;
  put_texts(batch, 0, 1);
  return 0;
}

/* The plugin has one offer. */
COLLECTOR(put_text_into_second_offer) {
  (void)worker;
  put_texts(batch, 1, 0);
  return 0;
}

/* The plugin has no tally. */
COLLECTOR(count_in_unknown_tally) {
  batch->tally(batch->core, 5, 1);
  return collect_tids(worker, batch);
}

#ifndef PAUSE_MS
#define PAUSE_MS 0
#endif

/* Takes PAUSE_MS over its first batch. */
COLLECTOR(pause_first) {
  static int is_later;
  const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000L * 1000};
  if (!is_later++) thrd_sleep(&pause, NULL);
  return collect_tids(worker, batch);
}

/* Leaks a descriptor per batch. */
COLLECTOR(open_and_forget) {
  if (open("/dev/null", O_RDONLY) < 0) return 1;
  return collect_tids(worker, batch);
}

/* Leaks a megabyte per batch. */
COLLECTOR(allocate_and_forget) {
  static void* volatile last;
  for (int i = 0; i < 1024; ++i) last = malloc(1024);
  return last ? collect_tids(worker, batch) : 1;
}

static int32_t fill_all(struct ctprof_batch* batch, uint64_t value) {
  uint64_t* values = batch->cells[0].values;
  for (uint32_t row = 0; values && row < batch->rows; ++row) {
    values[row] = value;
    batch->cells[0].gaps[row] = CTPROF_VALUE;
  }
  batch->rows_done = batch->rows;
  return 0;
}

/* Decreases a counter in each batch. */
COLLECTOR(count_down) {
  static atomic_uint_fast64_t counter = 1000000;
  (void)worker;
  return fill_all(batch, --counter);
}

/* Writes a negative number to an unsigned column. */
COLLECTOR(write_negative) {
  (void)worker;
  return fill_all(batch, (uint64_t)-5);
}

/* Writes more than 100 percent, in hundredths. */
COLLECTOR(write_percentage) {
  (void)worker;
  return fill_all(batch, 10001);
}

/* Writes the time since 1970 instead of a duration. */
COLLECTOR(write_date) {
  (void)worker;
  return fill_all(batch, 1764460800000000000u);
}

/* Decreases the count of one bucket in each batch. */
COLLECTOR(count_bucket_down) {
  static atomic_uint_fast64_t counter = 1000000;
  uint64_t buckets[CTPROF_HISTOGRAM_BUCKETS] = {0};
  (void)worker;
  buckets[7] = --counter;
  for (uint32_t row = 0; row < batch->rows; ++row)
    batch->put_array(batch->core, 0, row, buckets, CTPROF_HISTOGRAM_BUCKETS);
  batch->rows_done = batch->rows;
  return 0;
}

/* Decreases the count of one key in each batch. */
COLLECTOR(count_key_down) {
  static atomic_uint_fast64_t counter = 1000000;
  const struct ctprof_entry entries[] = {{{"falls", 5}, --counter}, {{"stays", 5}, 1}};
  (void)worker;
  for (uint32_t row = 0; row < batch->rows; ++row) batch->put_map(batch->core, 0, row, entries, 2);
  batch->rows_done = batch->rows;
  return 0;
}

static int wait_forever(void* nothing) {
  (void)nothing;
  while (pause()) continue;
  return 0;
}

COLLECTOR(start_thread_and_forget) {
  thrd_t thread;
  if (thrd_create(&thread, wait_forever, NULL) != thrd_success) return 1;
  return collect_tids(worker, batch);
}

/* Leaks a megabyte per batch that malloc does not know. */
COLLECTOR(map_and_forget) {
  void* memory = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? 1 : collect_tids(worker, batch);
}

/* Leaks a block per batch that malloc maps separately. */
COLLECTOR(allocate_block_and_forget) {
  static void* volatile last;
  last = malloc(1 << 20);
  return last ? collect_tids(worker, batch) : 1;
}

static void ignore_signal(int number) { (void)number; }

COLLECTOR(handle_signal) {
  signal(SIGUSR1, ignore_signal);
  return collect_tids(worker, batch);
}

/* The timer expires after an hour. */
COLLECTOR(start_timer) {
  const struct itimerval hour = {.it_value = {.tv_sec = 3600}};
  setitimer(ITIMER_REAL, &hour, NULL);
  return collect_tids(worker, batch);
}

COLLECTOR(change_environment) {
  setenv("TZ", "Antarctica/Troll", 1);
  return collect_tids(worker, batch);
}

COLLECTOR(change_limit) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_STACK, &limit);
  return collect_tids(worker, batch);
}

COLLECTOR(close_standard_input) {
  close(STDIN_FILENO);
  return collect_tids(worker, batch);
}

/* Replaces ctprof by another program. */
COLLECTOR(execute_program) {
  (void)worker, (void)batch;
  execl("/bin/true", "true", (char*)NULL);
  return 1;
}

COLLECTOR(print_to_standard_error) {
  static const char kText[] = "a warning of a plugin\n";
  return write(STDERR_FILENO, kText, sizeof kText - 1) < 0 ? 1 : collect_tids(worker, batch);
}

/* Waits in each capture. */
COLLECTOR(block) {
  const struct timespec pause = {.tv_sec = 1, .tv_nsec = 100 * 1000 * 1000};
  const uint64_t* tids = batch->inputs[0].values;
  if (tids[0] == 1) thrd_sleep(&pause, NULL);
  return collect_tids(worker, batch);
}

OPENER(refuse_to_open) {
  (void)host, (void)worker;
  strncpy(message, "the device is on fire", message_size - 1);
  return 1;
}

/* Opens files until no descriptor is left, and keeps them open. */
OPENER(open_all_descriptors) {
  (void)host, (void)worker, (void)message, (void)message_size;
  while (open("/dev/null", O_RDONLY) >= 0) continue;
  return 0;
}
