#include "tools/ctprof/runtime/machine_delay.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace ctprof::cli {
namespace {

long count_disk_reads() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_majflt + used.ru_inblock;
}

int open_schedstat(pid_t thread) {
  constexpr std::string_view kBefore = "/proc/self/task/", kAfter = "/schedstat";
  std::array<char, 64> path{};
  char* at = std::ranges::copy(kBefore, path.data()).out;
  at = std::to_chars(at, path.end(), thread).ptr;
  std::ranges::copy(kAfter, at);
  return ::open(path.data(), O_RDONLY | O_CLOEXEC);
}

// Returns the ns that a thread has waited for a CPU since it started; 0 if the kernel does not
// report it.
std::uint64_t read_cpu_wait_ns(pid_t thread) {
  const int file = open_schedstat(thread);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  const char* const end = text.data() + std::max<ssize_t>(size, 0);
  const char* const space = std::find(static_cast<const char*>(text.data()), end, ' ');
  std::uint64_t cpu_wait_ns = 0;
  if (space != end) std::from_chars(space + 1, end, cpu_wait_ns);
  return cpu_wait_ns;
}

}  // namespace

void MachineDelay::begin() {
  thread_ = ::gettid();
  cpu_wait_ns_ = 0;
  disk_reads_ = count_disk_reads();
}

bool MachineDelay::was_delayed(std::uint64_t min_wait_ns) {
  const int saved_errno = errno;
  const std::uint64_t cpu_wait_ns = read_cpu_wait_ns(thread_);
  const long disk_reads = count_disk_reads();
  const bool is_delayed =
      (cpu_wait_ns > cpu_wait_ns_ && cpu_wait_ns - cpu_wait_ns_ >= min_wait_ns) ||
      disk_reads > disk_reads_;
  cpu_wait_ns_ = cpu_wait_ns;
  disk_reads_ = disk_reads;
  errno = saved_errno;
  return is_delayed;
}

}  // namespace ctprof::cli
