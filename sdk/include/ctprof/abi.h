/* ctprof/abi.h: the binary boundary between ctprof and its plugins, version 1. What crosses it is
 * declared in ctprof/abi/, by subject.
 *
 * Plain C11, so that a plugin can be written in any language that speaks the C calling convention.
 * In C++, use ctprof/plugin.hpp, a header-only layer on top of this file.
 *
 * A plugin is a shared object that exports one symbol, the constant
 *
 *     const struct ctprof_plugin ctprof_plugin = { CTPROF_ABI, sizeof(struct ctprof_plugin),
 * "name", ... };
 *
 * and nothing else. The core reads its first field before it calls anything.
 *
 * A whole plugin, which says of each thread that it is odd or even:
 *
 *     static const struct ctprof_metric kOdd = {
 *       .size = sizeof kOdd, .storage = CTPROF_BOOL, .name = "parity_odd", .newtype = "Flag",
 *       .rule = "ModeBool", .description = "Whether the thread's id is odd."};
 *     static const struct ctprof_offer kOffers[] = {{&kOdd, 0, 0}};
 *     static const char* const kReads[] = {"tid"};
 *
 *     static int32_t open_worker(const struct ctprof_host* host, void** worker, char* message,
 *                                size_t message_size) { return 0; }
 *     static void close_worker(void* worker) {}
 *     static int32_t collect(void* worker, struct ctprof_batch* batch) {
 *       const uint64_t* tids = batch->inputs[0].values;
 *       uint8_t* odd = batch->cells[0].values;
 *       for (uint32_t row = 0; batch->cells[0].gaps && row < batch->rows; ++row) {
 *         odd[row] = tids[row] & 1;
 *         batch->cells[0].gaps[row] = CTPROF_VALUE;
 *       }
 *       batch->rows_done = batch->rows;
 *       return 0;
 *     }
 *
 *     static const struct ctprof_source kSources[] = {{
 *       .size = sizeof kSources[0], .stage = CTPROF_STAGE_THREAD, .name = "threads",
 *       .offers = CTPROF_ARRAY_OF(kOffers), .reads = CTPROF_ARRAY_OF(kReads),
 *       .open_worker = open_worker, .collect = collect, .close_worker = close_worker}};
 *
 *     CTPROF_EXPORT const struct ctprof_plugin ctprof_plugin = {
 *       .abi = CTPROF_ABI, .size = sizeof ctprof_plugin, .name = "parity", .version = "1.0",
 *       .sources = CTPROF_ARRAY_OF(kSources)};
 *
 * How it may change, for ever:
 *   - every struct carries its size, every array the size of one item; new fields go to the end,
 * and a field beyond the size that the other side states is zero;
 *   - numbers once given keep their meaning (some of them reach the file);
 *   - any other change raises CTPROF_ABI.
 *
 * Rules of the road:
 *   - nothing that is handed over outlives the call, on either side, but the constant table itself
 * and what it points to;
 *   - no exception, no C++ type, and no memory to be freed by the other side crosses;
 *   - strings in tables are UTF-8, end with a NUL, and an absent one is NULL or "";
 *   - the functions of one worker are never called at once from two threads; two workers may run
 * side by side;
 *   - constructors, `open_plugin` and `probe` return within 5 s, and nothing calls exit(); a plugin
 * that does not keep to it is named, and ctprof ends;
 *   - standard output is ctprof's: what a plugin prints goes to standard error; what it changes of
 * the working directory, the locale and the file mode mask is put back.
 */
#ifndef CTPROF_ABI_H
#define CTPROF_ABI_H

#include "ctprof/abi/cells.h"
#include "ctprof/abi/host.h"
#include "ctprof/abi/metric.h"
#include "ctprof/abi/record.h"
#include "ctprof/abi/rule.h"
#include "ctprof/abi/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stands before the one constant that a plugin exports, so that it stays visible in a library that
 * is built with -fvisibility=hidden:
 *
 *     CTPROF_EXPORT const struct ctprof_plugin ctprof_plugin = { CTPROF_ABI, ... };
 */
#ifdef __cplusplus
#define CTPROF_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define CTPROF_EXPORT __attribute__((visibility("default")))
#endif

#define CTPROF_ABI 1u

typedef uint32_t ctprof_plugin_flags;
enum {
  CTPROF_PLUGIN_LAYOUT =
      1, /* only declares: it shapes files, is loaded whatever was asked for, and is never shown */
  CTPROF_PLUGIN_ALWAYS =
      2, /* takes part in every capture, whatever was asked for; of ctprof's own plugins alone */
  CTPROF_PLUGIN_AHEAD =
      4, /* open_plugin begins what takes long: a capture loads it before the others, and opens it
            while they are loaded; of ctprof's own plugins alone, and without options */
  CTPROF_PLUGIN_RECORDER =
      8 /* its sources are all of stage CTPROF_STAGE_RECORD: it is not loaded for a capture or a
           window in which nothing is recorded, unless somebody names plugins or metrics */
};

struct ctprof_plugin {
  uint32_t abi;  /* CTPROF_ABI; read before anything else */
  uint32_t size; /* sizeof(struct ctprof_plugin) */
  const char* name;
  const char* version;
  const char* description CTPROF_OPTIONAL;
  ctprof_plugin_flags flags CTPROF_OPTIONAL;
  uint32_t reserved CTPROF_OPTIONAL;
  struct ctprof_array sources CTPROF_OPTIONAL; /* of struct ctprof_source */
  struct ctprof_array metrics
      CTPROF_OPTIONAL; /* of struct ctprof_metric: declared without an offer */
  struct ctprof_array derived CTPROF_OPTIONAL; /* of struct ctprof_derived */
  struct ctprof_array rules CTPROF_OPTIONAL;   /* of struct ctprof_rule */
  struct ctprof_array objects CTPROF_OPTIONAL; /* of const char *: top-level keys of the file that
                                  are null when no source fills them */
  /* Since windows. What the plugin keeps for as long as a host's state is taken for granted: made
   * before any `probe`, shared by all sources of the plugin, which meet it as `context` in what
   * they are handed. Returns 0, or fails with a sentence: then its offers are refused. Both NULL:
   * it keeps nothing. No plugin keeps anything elsewhere: two captures may run side by side, each
   * with a context of its own. */
  int32_t (*open_plugin)(const struct ctprof_host* host, void** context, char* message,
                         size_t message_size) CTPROF_TAIL;
  void (*close_plugin)(void* context) CTPROF_TAIL;
  struct ctprof_array options CTPROF_TAIL; /* of struct ctprof_option: what it can be told */
};

#ifdef __cplusplus
}
#endif

#endif
