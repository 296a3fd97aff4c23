#include "tools/ctprof/runtime/output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/options/settings.hpp"

namespace ctprof::cli {
namespace {

// High enough not to collide with descriptors that scripts use.
constexpr int kFirstOutputFd = 100;

constexpr std::array<std::string_view, 4> kStandardOutputNames{"-", "/dev/stdout", "/dev/fd/1",
                                                               "/proc/self/fd/1"};

int g_output_fd = -1;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

// Opens /dev/null on each free descriptor up to standard error.
void open_closed_standard_fds() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

constexpr std::string_view kClearLine = "\r\33[K";

std::mutex g_progress_lock;
std::atomic<bool> g_shows_progress{false};

bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

winsize terminal_size() {
  winsize size{};
  if (::ioctl(output_fd(), TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

// Returns COLUMNS if it is a number in a sensible range, otherwise 0.
unsigned read_columns_variable() {
  constexpr unsigned kNarrowest = 20, kWidest = 10'000;
  const char* const text = std::getenv("COLUMNS");
  if (!text) return 0;
  unsigned width = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, width);
  return read.ec == std::errc{} && read.ptr == end && width >= kNarrowest && width <= kWidest
             ? width
             : 0;
}

}  // namespace

void move_standard_output() {
  g_output_fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstOutputFd);
  if (g_output_fd < 0 && is_open(STDOUT_FILENO))
    g_output_fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  open_closed_standard_fds();
  if (is_open(STDERR_FILENO)) ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

int output_fd() { return g_output_fd; }

bool is_standard_output(std::string_view path) {
  return std::find(kStandardOutputNames.begin(), kStandardOutputNames.end(), path) !=
         kStandardOutputNames.end();
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

int fail(const Error& error) { return fail(error.text); }

int fail(std::string_view sentence) {
  print_to_stderr("ctprof: " + make_printable(sentence) +
                  make_printable(describe_origins(sentence)) + "\n");
  return kFailed;
}

void print_to_stderr(std::string_view text) {
  clear_progress();
  write_all(STDERR_FILENO, text);
}

void print_note(const CommonOptions& options, std::string_view sentence) {
  if (!options.quiet) fail(sentence);
}

int print(std::string_view text) {
  clear_progress();
  const int failed = write_all(output_fd(), text);
  return failed == 0 || failed == EPIPE
             ? kSuccess
             : fail("writing to standard output: " + std::string(std::strerror(failed)));
}

void show_progress(std::string_view line) {
  const std::lock_guard lock(g_progress_lock);
  g_shows_progress = true;
  write_all(STDERR_FILENO, std::string(kClearLine) + make_printable(line));
}

void clear_progress() {
  const std::lock_guard lock(g_progress_lock);
  if (g_shows_progress.exchange(false)) write_all(STDERR_FILENO, kClearLine);
}

void clear_progress_in_handler() {
  if (!g_shows_progress.exchange(false)) return;
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size());
}

bool use_color(const CommonOptions& options) {
  if (options.color != Color::Auto) return options.color == Color::Always;
  if (environment_has("NO_COLOR")) return false;
  return environment_has("CLICOLOR_FORCE") || ::isatty(output_fd()) == 1;
}

unsigned terminal_width() {
  if (::isatty(output_fd()) != 1) return read_columns_variable();
  const unsigned width = terminal_size().ws_col;
  return width > 0 ? width : 80;
}

unsigned terminal_lines() {
  const unsigned lines = terminal_size().ws_row;
  return lines > 0 ? lines : 24;
}

}  // namespace ctprof::cli
