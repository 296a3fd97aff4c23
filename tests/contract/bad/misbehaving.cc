// Misbehaves in one function. The environment variable MISBEHAVE="PLACE:ACTION" selects the
// function and the action, for example "collect:segv". Without it, and in all other functions, the
// plugin is correct: its one metric, misbehaving_value, is each thread's id under a rule of its
// own.
//
// It consists of plain C tables, so that its exceptions leave through the C boundary.

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ctprof/abi.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace {

void sleep_ms(long ms) {
  timespec remaining{ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&remaining, &remaining) != 0) {
  }
}

volatile int side_effect = 0;

// Recursion that no compiler converts to a loop.
__attribute__((noinline)) int overflow_stack(const volatile char* outer) {
  volatile char frame[4096];
  if (side_effect == 77) return 0;
  frame[0] = *outer;
  return overflow_stack(frame) + frame[0];
}

void cause_bus_error() {
  const int file = memfd_create("misbehaving", 0);
  *static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) =
      1;
}

void crash(const std::string& action) {
  if (action == "segv") *reinterpret_cast<volatile int*>(8L + side_effect) = 1;
  if (action == "bus") cause_bus_error();
  if (action == "fpe") raise(SIGFPE);
  if (action == "ill") __builtin_trap();
  if (action == "trap") raise(SIGTRAP);
  if (action == "abort") abort();
  if (action == "overflow")
    side_effect = overflow_stack(reinterpret_cast<const volatile char*>(&action));
}

void exit_or_throw(const std::string& action) {
  if (action == "exit") exit(0);
  if (action == "quick_exit") quick_exit(0);
  if (action == "pthread_exit") pthread_exit(nullptr);
  if (action == "throw") throw std::runtime_error("thrown by a plugin");
  if (action == "throw_int") throw 7;
  if (action == "child" && fork() == 0) exit(9);
}

// Starts a process that leaves its parent, group and session, and never exits.
void start_daemon() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  for (;;) pause();
}

void change_processes(const std::string& action) {
  if (action == "daemon") start_daemon();
  if (action != "regroup") return;
  setpgid(0, getpgid(getppid()));
  close_range(1, ~0u, 0);
  for (;;) pause();
}

void change_process_state(const std::string& action) {
  [[maybe_unused]] ssize_t written = 0;
  if (action == "print")
    printf("printed by a plugin"), written = write(1, "written by a plugin\n", 20);
  if (action == "flush") printf("printed by a plugin\n"), fflush(stdout);
  if (action == "chdir") side_effect = chdir("..");
  if (action == "umask") umask(0777);
  if (action == "locale" && !setlocale(LC_ALL, "ctprof_comma")) printf("no locale\n");
}

void crash_in_handler(int) { crash("segv"); }

void use_signals(const std::string& action) {
  sigset_t all;
  sigfillset(&all);
  if (action == "block") pthread_sigmask(SIG_SETMASK, &all, nullptr);
  // Stops until the test, which the kernel notifies, has sent a signal.
  if (action == "block" || action == "stop") raise(SIGSTOP);
  if (action != "alarm") return;
  const itimerval every_20_ms{{0, 20000}, {0, 20000}};
  signal(SIGALRM, crash_in_handler);
  setitimer(ITIMER_REAL, &every_20_ms, nullptr);
}

// Uses CPU time, which takes longer if other processes compete for the CPU.
void use_cpu_time(clock_t ms) {
  const clock_t exit_or_throw = clock() + ms * (CLOCKS_PER_SEC / 1000);
  while (clock() < exit_or_throw) {
  }
}

// Reads from the disk for 7 s, bypassing the page cache.
void read_from_disk_slowly(const char* path) {
  alignas(4096) static char buffer[4096];
  for (int i = 0; i < 14; ++i) {
    const int file = open(path, O_RDONLY | O_DIRECT);
    side_effect = static_cast<int>(read(file, buffer, sizeof buffer));
    close(file);
    sleep_ms(500);
  }
}

void take_time(const std::string& action) {
  if (action == "compute") use_cpu_time(100);
  if (action == "read") read_from_disk_slowly(getenv("MISBEHAVE_FILE"));
  while (action == "hang") pause();
  if (action == "slow") sleep_ms(2900);
  if (action == "three") sleep_ms(3000);
}

void misbehave_in(const char* place) {
  const char* setting = getenv("MISBEHAVE");
  const char* colon = setting ? strchr(setting, ':') : nullptr;
  if (!colon || std::string(setting, colon) != place) return;
  const std::string action = colon + 1;
  crash(action), exit_or_throw(action), change_processes(action), change_process_state(action),
      use_signals(action), take_time(action);
}

struct LibraryLifetime {
  LibraryLifetime() { misbehave_in("constructor"); }
  ~LibraryLifetime() { misbehave_in("destructor"); }
} library_lifetime;

void probe(const ctprof_host*, const ctprof_probe*) { misbehave_in("probe"); }

int32_t open_worker(const ctprof_host*, void**, char*, size_t) {
  misbehave_in("open_worker");
  return 0;
}

int32_t collect(void*, ctprof_batch* batch) {
  static bool has_misbehaved = false;
  if (!__atomic_exchange_n(&has_misbehaved, true, __ATOMIC_SEQ_CST)) misbehave_in("collect");
  const auto* tids = static_cast<const uint64_t*>(batch->inputs[0].values);
  auto* values = static_cast<uint64_t*>(batch->cells[0].values);
  for (uint32_t row = 0; values && row < batch->rows; ++row)
    values[row] = tids[row], batch->cells[0].gaps[row] = CTPROF_VALUE;
  batch->rows_done = batch->rows;
  return 0;
}

void close_worker(void*) { misbehave_in("close_worker"); }
void summarise(const ctprof_summary*) { misbehave_in("summarise"); }

// Misbehaves only on a thread other than the first, which waits until another thread gets here.
void misbehave_in_second_thread(const char* place) {
  static std::atomic<bool> second_thread_arrived = false;
  const char* setting = getenv("MISBEHAVE");
  if (getpid() != gettid()) {
    second_thread_arrived = true;
    return misbehave_in(place);
  }
  while (setting && std::string_view(setting).starts_with(place) && !second_thread_arrived)
    sleep_ms(1);
}

void add(void* states, const ctprof_rows* rows) {
  misbehave_in("add");
  misbehave_in_second_thread("add_elsewhere");
  for (uint64_t i = 0; i < rows->count; ++i)
    if (rows->groups[i] != UINT32_MAX)
      static_cast<uint64_t*>(states)[rows->groups[i]] +=
          static_cast<const uint64_t*>(rows->values)[i];
}
void merge(void* into, const void* from) {
  *static_cast<uint64_t*>(into) += *static_cast<const uint64_t*>(from);
}
ctprof_number number(const void* state) {
  misbehave_in("number");
  return {CTPROF_NUMBER_U64, 0, {*static_cast<const uint64_t*>(state)}};
}

// clang-format off
const ctprof_metric kMetric = {
  .size = sizeof kMetric, .storage = CTPROF_U64, .name = "misbehaving_value", .newtype = "GaugeCount", .rule = "misbehaving_sum",
  .description = "The thread's id."};
const ctprof_offer kOffers[] = {{.metric = &kMetric}};
const char* const kReads[] = {"tid"};
const ctprof_source kSources[] = {{
  .size = sizeof kSources[0], .stage = CTPROF_STAGE_THREAD, .name = "actor", .offers = CTPROF_ARRAY_OF(kOffers),
  .reads = CTPROF_ARRAY_OF(kReads), .probe = probe, .open_worker = open_worker, .collect = collect, .close_worker = close_worker,
  .summarise = summarise}};
const ctprof_rule kRules[] = {{
  .size = sizeof kRules[0], .state_size = 8, .name = "misbehaving_sum", .fallback = "SumGaugeCount", .newtypes = "GaugeCount",
  .description = "A sum.", .add = add, .merge = merge, .number = number}};
// clang-format on

}  // namespace

extern "C" {
// clang-format off
__attribute__((visibility("default"))) extern const ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = "misbehaving", .version = "1.0", .description = "For tests.",
  .sources = CTPROF_ARRAY_OF(kSources), .rules = CTPROF_ARRAY_OF(kRules)};
// clang-format on
}
