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
#include "plugins/sleepers/bpf_sampler.hpp"
#include "plugins/sleepers/tally.hpp"

namespace {

using namespace ctprof::sleepers;

constexpr std::uint64_t kNsPerTick = 10'000'000;
// Passes per round. The first one has full records of all threads, the others only of threads that
// ran.
constexpr int kPassesPerRound = 4;

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

ctprof_records make_records(Core& core) {
  ctprof_records abi_records{};
  abi_records.size = sizeof abi_records;
  abi_records.core = &core;
  abi_records.put = &Core::put;
  abi_records.change = &Core::change;
  return abi_records;
}

struct Cost {
  std::uint64_t read_ns = std::numeric_limits<std::uint64_t>::max(), total_ns = read_ns;
  void update_minima(std::uint64_t pass_read_ns, std::uint64_t pass_total_ns) {
    read_ns = std::min(read_ns, pass_read_ns);
    total_ns = std::min(total_ns, pass_total_ns);
  }
};

struct Costs {
  Cost full_pass, repeated_pass;
  std::uint64_t threads = 0, user_parts = 0, bytes = 0;
};

// Returns all processes. Processes whose memory is not read have no user part.
std::set<std::uint32_t> processes() {
  std::set<std::uint32_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const int id = std::atoi(entry.path().filename().c_str()); id > 0)
      found.insert(static_cast<std::uint32_t>(id));
  return found;
}

std::unique_ptr<BpfSampler> load_sampler(std::size_t max_copied,
                                         std::set<std::uint32_t> excluded_tgids) {
  int error = 0;
  auto program = Program::load(error);
  if (!program) {
    std::fprintf(stderr, "the program cannot be loaded: %d\n", error);
    std::exit(1);
  }
  return std::make_unique<BpfSampler>(std::move(program), kNsPerTick, max_copied,
                                      std::move(excluded_tgids));
}

// Starts a new round every kPassesPerRound passes, so that every thread gets a full record again.
Costs measure(int passes, std::size_t max_copied, std::set<std::uint32_t> excluded_tgids) {
  const auto pass_reader = load_sampler(max_copied, std::move(excluded_tgids));
  Costs costs;
  Pass pass;
  auto core = std::make_unique<Core>();
  Tally tally({});
  for (int i = 0; i < kPassesPerRound * passes; ++i) {
    if (i % (16 * kPassesPerRound) == 0) core = std::make_unique<Core>();
    ctprof_records abi_records = make_records(*core);
    const ctprof::sdk::Records records(abi_records);
    pass.clear();
    const std::uint64_t begin = cpu_ns();
    pass_reader->sample(static_cast<std::uint32_t>(i / kPassesPerRound + 1), pass);
    const std::uint64_t read_end = cpu_ns();
    tally.add_pass(pass, records);
    const std::uint64_t end = cpu_ns();
    (i % kPassesPerRound == 0 ? costs.full_pass : costs.repeated_pass)
        .update_minima(read_end - begin, end - begin);
    costs.threads = std::max<std::uint64_t>(costs.threads, pass.sleepers());
    if (i % kPassesPerRound != 0) continue;
    costs.bytes = pass.copied;
    costs.user_parts = static_cast<std::uint64_t>(
        std::ranges::count(pass.changed_sleepers, UserPart::Copied, &Sleeper::user));
  }
  return costs;
}

void print(const char* name, const Costs& costs, const char* end) {
  std::printf(
      "\"%s\":{\"threads\":%lu,\"users\":%lu,\"bytes\":%lu,\"whole_ns\":%lu,\"whole_read_ns\":%lu,"
      "\"again_ns\":%lu,\"again_read_ns\":%lu}%s",
      name, costs.threads, costs.user_parts, costs.bytes, costs.full_pass.total_ns,
      costs.full_pass.read_ns, costs.repeated_pass.total_ns, costs.repeated_pass.read_ns, end);
}

}  // namespace

int main(int argc, char** argv) {
  const int passes = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::size_t max_copied = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  std::putchar('{');
  print("both", measure(passes, max_copied, {}), ",");
  print("kernel", measure(passes, max_copied, processes()), "}\n");
}
