// detect PID...: measures finding jemalloc's counters in these processes: once with an empty cache,
// and once more with the same finder. Prints a JSON object.

#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"

namespace {

using ctprof::jemalloc::Finder;
using ctprof::jemalloc::FindStatus;

struct PassResult {
  long long ns = 0;
  int found = 0;
};

PassResult run_pass(Finder& finder, const std::vector<std::uint64_t>& processes) {
  PassResult result;
  const auto start = std::chrono::steady_clock::now();
  for (const std::uint64_t process : processes)
    result.found += finder.find(process).status == FindStatus::Found ? 1 : 0;
  result.ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::uint64_t> processes;
  for (int i = 1; i < count; ++i) processes.push_back(std::strtoull(words[i], nullptr, 10));
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  host.proc_fd = ::open("/proc", O_RDONLY | O_DIRECTORY);
  Finder finder{ctprof::sdk::Host(host)};
  const PassResult cold = run_pass(finder, processes);
  const PassResult warm = run_pass(finder, processes);
  std::printf("{\"cold_ns\": %lld, \"warm_ns\": %lld, \"found\": %d}\n", cold.ns, warm.ns,
              cold.found);
}
