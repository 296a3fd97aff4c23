#include "tools/ctprof/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ctprof::cli {
namespace {

// High enough not to collide with descriptors that scripts use.
constexpr int kOutput = 100;

constexpr std::array<std::string_view, 4> kNamesOfOutput{"-", "/dev/stdout", "/dev/fd/1",
                                                         "/proc/self/fd/1"};

int g_output = -1;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// Opens /dev/null on each free descriptor up to standard error.
void fill_gaps() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace

void keep_output() {
  g_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kOutput);
  if (g_output < 0 && is_open(STDOUT_FILENO))
    g_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  fill_gaps();
  if (is_open(STDERR_FILENO)) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int output_fd() { return g_output; }

bool names_output(std::string_view path) {
  return std::find(kNamesOfOutput.begin(), kNamesOfOutput.end(), path) != kNamesOfOutput.end();
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace ctprof::cli
