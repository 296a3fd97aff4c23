/* examplec_util_avg: the scheduler's estimate of the CPU utilisation of each thread, 0 to 1024, and
 * a rule that averages it over a group.
 *
 * Source: /proc/<tgid>/task/<tid>/sched, line `se.avg.util_avg`; only for threads of the fair
 * class. Written in C11; includes only ctprof/abi.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctprof/abi.h"

/* clang-format off */
static const struct ctprof_metric kUtilAvg = {
  .size = sizeof kUtilAvg, .storage = CTPROF_U64, .name = "examplec_util_avg", .newtype = "GaugeCount", .rule = "examplec_mean",
  .sched_class = "fair-policy", .applies_to = "fair", .source = "/proc/<tgid>/task/<tid>/sched:se.avg.util_avg",
  .description = "Running average of the share of a CPU that the thread uses; 1024 is a whole CPU.",
  .caveat = "The kernel updates it when the thread is scheduled: it stays constant while the thread sleeps, and decays when the thread wakes up."};
/* clang-format on */

/* ---- the rule: the mean of a group ---- */
struct mean {
  uint64_t sum, count;
};

static void add(void* states, const struct ctprof_rows* rows) {
  for (uint64_t i = 0; i < rows->count; ++i) {
    if (rows->groups[i] == UINT32_MAX || (rows->gaps && rows->gaps[i] != CTPROF_VALUE)) continue;
    struct mean* mean = (struct mean*)states + rows->groups[i];
    mean->sum += ((const uint64_t*)rows->values)[i];
    ++mean->count;
  }
}

static void merge(void* into, const void* from) {
  ((struct mean*)into)->sum += ((const struct mean*)from)->sum;
  ((struct mean*)into)->count += ((const struct mean*)from)->count;
}

static struct ctprof_number number(const void* state) {
  const struct mean* mean = state;
  if (mean->count == 0) return (struct ctprof_number){.kind = CTPROF_NUMBER_NONE};
  return (struct ctprof_number){.kind = CTPROF_NUMBER_F64,
                                .f64 = (double)mean->sum / (double)mean->count};
}

/* ---- the source ---- */

/* Reads the number on the line that begins with a key. `key` starts with a newline. */
static ctprof_gap number_after(const char* text, const char* key, uint64_t* value) {
  const char* line = strstr(text, key);
  return line && sscanf(line + strlen(key), " : %" SCNu64, value) == 1 ? CTPROF_VALUE
                                                                       : CTPROF_UNSUPPORTED;
}

static ctprof_gap parse(const char* text, uint64_t* util) {
  /* The thread's name is before this line, and can contain any text. */
  const char* lines = strstr(text, "\n----------------");
  uint64_t policy = 0;
  if (!lines || number_after(lines, "\npolicy", &policy) != CTPROF_VALUE) return CTPROF_MALFORMED;
  if (policy == 1 || policy == 2 || policy == 6)
    return CTPROF_NOT_APPLICABLE; /* FIFO, RR, DEADLINE */
  return number_after(lines, "\nse.avg.util_avg", util);
}

static ctprof_gap read_util(int proc, uint64_t tgid, uint64_t tid, uint64_t* util) {
  char text[16384];
  snprintf(text, sizeof text, "%" PRIu64 "/task/%" PRIu64 "/sched", tgid, tid);
  const int file = openat(proc, text, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  const int error = errno;
  if (file >= 0) close(file);
  if (size < 0)
    return error == EACCES                     ? CTPROF_DENIED
           : error == ENOENT || error == ESRCH ? CTPROF_THREAD_GONE
                                               : CTPROF_SOURCE_FAILED;
  text[size] = 0;
  return parse(text, util);
}

static void probe(const struct ctprof_host* host, const struct ctprof_probe* answer) {
  static const char kReason[] = "no se.avg.util_avg in /proc/<tgid>/task/<tid>/sched";
  uint64_t util;
  const ctprof_gap gap = read_util(host->proc_fd, host->sample_tgid, host->sample_tid, &util);
  if (gap != CTPROF_VALUE && gap != CTPROF_NOT_APPLICABLE)
    answer->refuse(answer->core, 0, CTPROF_UNSUPPORTED, kReason, sizeof kReason - 1);
}

/* The state of a worker is only the descriptor of /proc, which ctprof keeps open during the
 * capture. */
static int32_t open_worker(const struct ctprof_host* host, void** worker, char* message,
                           size_t message_size) {
  (void)message, (void)message_size;
  *worker = (void*)(intptr_t)host->proc_fd;
  return 0;
}
static void close_worker(void* worker) { (void)worker; }

static int32_t collect(void* worker, struct ctprof_batch* batch) {
  const uint64_t* tgids = batch->inputs[0].values;
  const uint64_t* tids = batch->inputs[1].values;
  uint64_t* utils = batch->cells[0].values;
  for (uint32_t row = 0; utils && row < batch->rows; ++row)
    batch->cells[0].gaps[row] =
        read_util((int)(intptr_t)worker, tgids[row], tids[row], &utils[row]);
  batch->rows_done = batch->rows;
  return 0;
}

/* ---- the tables ---- */
static const struct ctprof_offer kOffers[] = {{.metric = &kUtilAvg}};
static const char* const kReads[] = {"tgid", "tid"};
/* clang-format off */
static const struct ctprof_source kSources[] = {{
  .size = sizeof kSources[0], .stage = CTPROF_STAGE_THREAD, .name = "examplec", .offers = CTPROF_ARRAY_OF(kOffers),
  .reads = CTPROF_ARRAY_OF(kReads), .probe = probe, .open_worker = open_worker, .collect = collect, .close_worker = close_worker}};
static const struct ctprof_rule kRules[] = {{
  .size = sizeof kRules[0], .state_size = sizeof(struct mean), .name = "examplec_mean", .fallback = "MaxGaugeCount",
  .newtypes = "GaugeCount", .description = "Mean over the threads that have a value.",
  .add = add, .merge = merge, .number = number}};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof ctprof_plugin, .name = "examplec", .version = "1.0",
  .description = "CPU utilisation as estimated by the scheduler, and its mean over a group.",
  .sources = CTPROF_ARRAY_OF(kSources), .rules = CTPROF_ARRAY_OF(kRules)};
