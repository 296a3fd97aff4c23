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

void nap(long ms) {
  timespec left{ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

volatile int nothing = 0;

// Recursion that no compiler converts to a loop.
__attribute__((noinline)) int overflow(const volatile char* outer) {
  volatile char frame[4096];
  if (nothing == 77) return 0;
  frame[0] = *outer;
  return overflow(frame) + frame[0];
}

void bus_error() {
  const int file = memfd_create("misbehaving", 0);
  *static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) =
      1;
}

void crash(const std::string& deed) {
  if (deed == "segv") *reinterpret_cast<volatile int*>(8L + nothing) = 1;
  if (deed == "bus") bus_error();
  if (deed == "fpe") raise(SIGFPE);
  if (deed == "ill") __builtin_trap();
  if (deed == "trap") raise(SIGTRAP);
  if (deed == "abort") abort();
  if (deed == "overflow") nothing = overflow(reinterpret_cast<const volatile char*>(&deed));
}

void end(const std::string& deed) {
  if (deed == "exit") exit(0);
  if (deed == "quick_exit") quick_exit(0);
  if (deed == "pthread_exit") pthread_exit(nullptr);
  if (deed == "throw") throw std::runtime_error("thrown by a plugin");
  if (deed == "throw_int") throw 7;
  if (deed == "child" && fork() == 0) exit(9);
}

void change(const std::string& deed) {
  [[maybe_unused]] ssize_t written = 0;
  if (deed == "print")
    printf("printed by a plugin"), written = write(1, "written by a plugin\n", 20);
  if (deed == "flush") printf("printed by a plugin\n"), fflush(stdout);
  if (deed == "chdir") nothing = chdir("..");
  if (deed == "umask") umask(0777);
  if (deed == "locale" && !setlocale(LC_ALL, "ctprof_comma")) printf("no locale\n");
}

void crash_in_handler(int) { crash("segv"); }

void use_signals(const std::string& deed) {
  sigset_t all;
  sigfillset(&all);
  if (deed == "block") pthread_sigmask(SIG_SETMASK, &all, nullptr);
  // Stops until the test, which the kernel notifies, has sent a signal.
  if (deed == "block" || deed == "stop") raise(SIGSTOP);
  if (deed != "alarm") return;
  const itimerval often{{0, 20000}, {0, 20000}};
  signal(SIGALRM, crash_in_handler);
  setitimer(ITIMER_REAL, &often, nullptr);
}

// Uses CPU time, which takes longer if other processes compete for the CPU.
void compute(clock_t ms) {
  const clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
  while (clock() < end) {
  }
}

// Reads from the disk for 7 s, bypassing the page cache.
void read_slowly(const char* path) {
  alignas(4096) static char room[4096];
  for (int i = 0; i < 14; ++i) {
    const int file = open(path, O_RDONLY | O_DIRECT);
    nothing = static_cast<int>(read(file, room, sizeof room));
    close(file);
    nap(500);
  }
}

void take_time(const std::string& deed) {
  if (deed == "compute") compute(100);
  if (deed == "read") read_slowly(getenv("MISBEHAVE_FILE"));
  while (deed == "hang") pause();
  if (deed == "slow") nap(2900);
  if (deed == "three") nap(3000);
}

void be_rude(const char* place) {
  const char* given = getenv("MISBEHAVE");
  const char* colon = given ? strchr(given, ':') : nullptr;
  if (!colon || std::string(given, colon) != place) return;
  const std::string deed = colon + 1;
  crash(deed), end(deed), change(deed), use_signals(deed), take_time(deed);
}

struct Life {
  Life() { be_rude("constructor"); }
  ~Life() { be_rude("destructor"); }
} life;

void probe(const ctprof_host*, const ctprof_probe*) { be_rude("probe"); }

int32_t open_worker(const ctprof_host*, void**, char*, size_t) {
  be_rude("open_worker");
  return 0;
}

int32_t collect(void*, ctprof_batch* batch) {
  static bool done = false;
  if (!__atomic_exchange_n(&done, true, __ATOMIC_SEQ_CST)) be_rude("collect");
  const auto* tids = static_cast<const uint64_t*>(batch->inputs[0].values);
  auto* values = static_cast<uint64_t*>(batch->cells[0].values);
  for (uint32_t row = 0; values && row < batch->rows; ++row)
    values[row] = tids[row], batch->cells[0].gaps[row] = CTPROF_VALUE;
  batch->rows_done = batch->rows;
  return 0;
}

void close_worker(void*) { be_rude("close_worker"); }
void summarise(const ctprof_summary*) { be_rude("summarise"); }

// Misbehaves only on a thread other than the first, which waits until another thread gets here.
void be_rude_elsewhere(const char* place) {
  static std::atomic<bool> elsewhere = false;
  const char* given = getenv("MISBEHAVE");
  if (getpid() != gettid()) {
    elsewhere = true;
    return be_rude(place);
  }
  while (given && std::string_view(given).starts_with(place) && !elsewhere) nap(1);
}

void add(void* states, const ctprof_rows* rows) {
  be_rude("add");
  be_rude_elsewhere("add_elsewhere");
  for (uint64_t i = 0; i < rows->count; ++i)
    if (rows->groups[i] != UINT32_MAX)
      static_cast<uint64_t*>(states)[rows->groups[i]] +=
          static_cast<const uint64_t*>(rows->values)[i];
}
void merge(void* into, const void* from) {
  *static_cast<uint64_t*>(into) += *static_cast<const uint64_t*>(from);
}
ctprof_number number(const void* state) {
  be_rude("number");
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
