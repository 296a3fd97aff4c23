/* ctprof/abi.h: the binary interface between ctprof and its plugins, version 1. The headers in
 * ctprof/abi/ declare its structs, one header for each subject.
 *
 * The interface is plain C11, so a plugin can be written in any language that supports the C
 * calling convention. In C++, use ctprof/plugin.hpp, a header-only layer on top of this file.
 *
 * A plugin is a shared object that exports one symbol, the constant
 *
 *     const struct ctprof_plugin ctprof_plugin = { CTPROF_ABI, sizeof(struct ctprof_plugin),
 * "name", ... };
 *
 * and no other symbol. The core reads the first field before it calls any function of the plugin.
 *
 * A whole plugin, which reports for each thread whether its id is odd:
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
 * How it may change, permanently:
 *   - every struct carries its size, and every array the size of one item. New fields are added at
 *     the end. A field beyond the size that the other side states is zero;
 *   - assigned numbers keep their meaning (some of them are stored in files);
 *   - any other change raises CTPROF_ABI.
 *
 * Rules for both sides:
 *   - data that is passed in a call is valid only during the call, on either side, except the
 *     constant table itself and the data that it points to;
 *   - no exception and no C++ type crosses the interface, and no side frees memory of the other;
 *   - strings in tables are UTF-8 and end with a NUL; an absent string is NULL or "";
 *   - the functions of one worker are never called concurrently; two workers may run in parallel;
 *   - constructors, `open_plugin` and `probe` return within 5 s, and no function calls exit().
 *     If a plugin violates this, ctprof names it and exits;
 *   - standard output belongs to ctprof: output of a plugin goes to standard error. ctprof restores
 *     the working directory, the locale and the file mode mask if a plugin changes them.
 */
#ifndef CTPROF_ABI_H
#define CTPROF_ABI_H

#include "ctprof/abi/cells.h"
#include "ctprof/abi/histogram.h"
#include "ctprof/abi/host.h"
#include "ctprof/abi/labels.h"
#include "ctprof/abi/metric.h"
#include "ctprof/abi/record.h"
#include "ctprof/abi/rule.h"
#include "ctprof/abi/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Precedes the one constant that a plugin exports, so that it stays visible in a library that is
 * built with -fvisibility=hidden:
 *
 *     CTPROF_EXPORT const struct ctprof_plugin ctprof_plugin = { CTPROF_ABI, ... }; */
#ifdef __cplusplus
#define CTPROF_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define CTPROF_EXPORT __attribute__((visibility("default")))
#endif

#define CTPROF_ABI 1u

typedef uint32_t ctprof_plugin_flags;
enum {
  CTPROF_PLUGIN_LAYOUT = 1, /* the plugin only declares metrics: it defines the layout of files, is
                               always loaded, and is never shown */
  CTPROF_PLUGIN_ALWAYS = 2, /* takes part in every capture, whatever plugins the user selects; only
                               for plugins that ship with ctprof */
  CTPROF_PLUGIN_AHEAD =
      4, /* open_plugin starts slow work: a capture loads this plugin first, and opens it while it
            loads the others; only for plugins that ship with ctprof and have no options */
  CTPROF_PLUGIN_RECORDER =
      8 /* all its sources are of stage CTPROF_STAGE_RECORD: it is not loaded for a capture or
           window without recorders, unless the user names plugins or metrics */
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
  /* Added with windows (record.h). Creates the plugin's state for one host, before any `probe`. All
   * sources of the plugin share this state and receive it as `context`. Returns 0, or an error with
   * a message, in which case the plugin's offers are refused. Both NULL: the plugin keeps no state.
   * A plugin must not keep state elsewhere: two captures may run concurrently, each with a context
   * of its own. */
  int32_t (*open_plugin)(const struct ctprof_host* host, void** context, char* message,
                         size_t message_size) CTPROF_TAIL;
  void (*close_plugin)(void* context) CTPROF_TAIL;
  struct ctprof_array options
      CTPROF_TAIL; /* of struct ctprof_option: options that a user can set */
};

#ifdef __cplusplus
}
#endif

#endif
