/* Plugins that break the contract in one place each. The words that meson.build defines for a
 * plugin replace those of sound_plugin.h; this file adds the functions that some of them name. */
#include <fcntl.h>
#include <string.h>
#include <threads.h>

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
COLLECTOR(put_text_behind_last_row);
COLLECTOR(put_text_into_second_offer);
COLLECTOR(count_in_unknown_tally);
COLLECTOR(pause_first);
int32_t function_of_nobody(void* worker, struct ctprof_batch* batch);
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

/* Reports that all rows are done, and leaves their cells untouched. */
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

/* Reports that cells hold texts or maps, and never puts one. */
COLLECTOR(claim_values) {
  (void)worker;
  for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row)
    batch->cells[0].gaps[row] = CTPROF_VALUE;
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

OPENER(refuse_to_open) {
  (void)host, (void)worker;
  strncpy(message, "the device is on fire", message_size - 1);
  return 1;
}

/* Opens files until there is no descriptor left, and keeps them. */
OPENER(open_all_descriptors) {
  (void)host, (void)worker, (void)message, (void)message_size;
  while (open("/dev/null", O_RDONLY) >= 0) continue;
  return 0;
}
