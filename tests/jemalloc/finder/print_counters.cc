// print_counters PID...: prints the result of the finder for each process: its tag, both distances
// of each jemalloc (0 0 if there is none), and the errno. For finder_test.py.

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"

int main(int count, char** words) {
  ctprof_host host{};
  host.size = sizeof host;
  host.proc = "/proc";
  host.proc_fd = ::open("/proc", O_RDONLY | O_DIRECTORY);
  ctprof::jemalloc::Finder finder{ctprof::sdk::Host(host)};
  for (int i = 1; i < count; ++i) {
    const auto found = finder.find(std::strtoull(words[i], nullptr, 10));
    std::printf("%s", find_status_tag(found.status));
    for (const auto& pair : found.counters.valid_pairs())
      std::printf(" %ld %ld", static_cast<long>(pair.allocated),
                  static_cast<long>(pair.deallocated));
    std::printf("%s %d\n", found.counters.valid_pairs().empty() ? " 0 0" : "", found.error);
  }
}
