// Measures a pass of the recorder sleepers: CPU time of reading and of delivering records, for
// passes with full records of all threads, for passes in which no thread ran, and for only the
// kernel part. Prints the minima of many passes as JSON. Needs root.
//
//   sleepers_passes [PASSES [BYTES]]    // BYTES: maximum bytes of a stack to copy

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "core/capture/record_arena.hpp"
#include "plugins/sleepers/bpf_looker.hpp"
#include "plugins/sleepers/tally.hpp"

namespace {

using namespace ctprof::sleepers;

constexpr std::uint64_t kNsPerTick = 10'000'000;
// Passes per round. The first one has full records of all threads, the others only of threads that
// ran.
constexpr int kOfRound = 4;

std::uint64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Replaces the core when records are delivered: stores a compact copy.
struct Core {
  ctprof::RecordArena arena{std::size_t{256} << 20};

  static void put(void* core, const ctprof_record* record) {
    static_cast<Core*>(core)->arena.add(*record);
  }
  static void change(void*, const ctprof_change*) {}
};

ctprof_records target(Core& core) {
  ctprof_records to{};
  to.size = sizeof to;
  to.core = &core;
  to.put = &Core::put;
  to.change = &Core::change;
  return to;
}

struct Cost {
  std::uint64_t look = std::numeric_limits<std::uint64_t>::max(), all = look;
  void take(std::uint64_t one_look, std::uint64_t one) {
    look = std::min(look, one_look);
    all = std::min(all, one);
  }
};

struct Costs {
  Cost whole, again;
  std::uint64_t threads = 0, users = 0, bytes = 0;
};

// Returns all processes. Processes whose memory is not read have no user part.
std::set<std::uint32_t> processes() {
  std::set<std::uint32_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const int id = std::atoi(entry.path().filename().c_str()); id > 0)
      found.insert(static_cast<std::uint32_t>(id));
  return found;
}

std::unique_ptr<BpfLooker> looker(std::size_t most_copied, std::set<std::uint32_t> avoided) {
  int error = 0;
  auto program = Program::load(error);
  if (!program) {
    std::fprintf(stderr, "the program cannot be loaded: %d\n", error);
    std::exit(1);
  }
  return std::make_unique<BpfLooker>(std::move(program), kNsPerTick, most_copied,
                                     std::move(avoided));
}

// Starts a new round every kPassesPerRound passes, so that every thread gets a full record again.
Costs measure(int passes, std::size_t most_copied, std::set<std::uint32_t> avoided) {
  const auto looks = looker(most_copied, std::move(avoided));
  Costs costs;
  Pass pass;
  auto core = std::make_unique<Core>();
  Tally tally({});
  for (int i = 0; i < kOfRound * passes; ++i) {
    if (i % (16 * kOfRound) == 0) core = std::make_unique<Core>();
    ctprof_records to = target(*core);
    const ctprof::sdk::Records records(to);
    pass.clear();
    const std::uint64_t begin = cpu_ns();
    looks->look(static_cast<std::uint32_t>(i / kOfRound + 1), pass);
    const std::uint64_t looked = cpu_ns();
    tally.take(pass, records);
    const std::uint64_t end = cpu_ns();
    (i % kOfRound == 0 ? costs.whole : costs.again).take(looked - begin, end - begin);
    costs.threads = std::max<std::uint64_t>(costs.threads, pass.sleepers());
    if (i % kOfRound != 0) continue;
    costs.bytes = pass.copied;
    costs.users = static_cast<std::uint64_t>(
        std::ranges::count(pass.fresh, UserPart::Copied, &Sleeper::user));
  }
  return costs;
}

void print(const char* name, const Costs& costs, const char* end) {
  std::printf(
      "\"%s\":{\"threads\":%lu,\"users\":%lu,\"bytes\":%lu,\"whole_ns\":%lu,\"whole_look_ns\":%lu,"
      "\"again_ns\":%lu,\"again_look_ns\":%lu}%s",
      name, costs.threads, costs.users, costs.bytes, costs.whole.all, costs.whole.look,
      costs.again.all, costs.again.look, end);
}

}  // namespace

int main(int argc, char** argv) {
  const int passes = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::size_t most = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  std::putchar('{');
  print("both", measure(passes, most, {}), ",");
  print("kernel", measure(passes, most, processes()), "}\n");
}
