#include "tools/ctprof/runtime/held_up.hpp"

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

long read_so_far() {
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
std::uint64_t waited_so_far(pid_t thread) {
  const int file = open_schedstat(thread);
  if (file < 0) return 0;
  std::array<char, 128> text{};
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  const char* const end = text.data() + std::max<ssize_t>(size, 0);
  const char* const space = std::find(static_cast<const char*>(text.data()), end, ' ');
  std::uint64_t waited = 0;
  if (space != end) std::from_chars(space + 1, end, waited);
  return waited;
}

}  // namespace

void HeldUp::begin() {
  thread_ = ::gettid();
  waited_ = 0;
  read_ = read_so_far();
}

bool HeldUp::since_asked(std::uint64_t most) {
  const int number = errno;
  const std::uint64_t waited = waited_so_far(thread_);
  const long read = read_so_far();
  const bool is_held_up = (waited > waited_ && waited - waited_ >= most) || read > read_;
  waited_ = waited;
  read_ = read;
  errno = number;
  return is_held_up;
}

}  // namespace ctprof::cli
