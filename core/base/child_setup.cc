#include "core/base/child_setup.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <mutex>

namespace ctprof {

void close_all_except(std::vector<int> kept_descriptors) {
  std::ranges::sort(kept_descriptors);
  unsigned next = 0;
  for (const int fd : kept_descriptors) {
    const auto descriptor = static_cast<unsigned>(fd);
    if (descriptor > next) ::close_range(next, descriptor - 1, 0);
    next = descriptor + 1;
  }
  ::close_range(next, UINT_MAX, 0);
}

void fill_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd <= STDERR_FILENO && fd >= 0) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

void reap_later(int process) {
  static std::mutex mutex;
  static std::vector<int> processes;
  const std::lock_guard lock(mutex);
  processes.push_back(process);
  std::erase_if(processes, [](int process) { return ::waitpid(process, nullptr, WNOHANG) != 0; });
}

}  // namespace ctprof
