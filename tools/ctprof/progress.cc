#include "tools/ctprof/progress.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1000}, kNext{500};

constexpr std::string_view kClearLine = "\r\33[K";

std::mutex g_line;
std::atomic<bool> g_shown{false};

void write(std::string_view text) { write_all(STDERR_FILENO, text); }

}  // namespace

bool shows_progress(const Options& options) {
  return !options.quiet && ::isatty(STDERR_FILENO) == 1;
}

void show_progress(std::string_view line) {
  const std::lock_guard lock(g_line);
  g_shown = true;
  write(std::string(kClearLine) + printable(line));
}

void clear_progress() {
  const std::lock_guard lock(g_line);
  if (g_shown.exchange(false)) write(kClearLine);
}

void clear_progress_in_handler() {
  if (!g_shown.exchange(false)) return;
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size());
}

std::string in_seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

Busy::Busy(const Options& options, std::string what) : what_(std::move(what)) {
  if (!shows_progress(options) || runs_privileged()) return;
  try {
    thread_ = std::thread(&Busy::run, this);
  } catch (const std::system_error&) {
    return;  // nobody is told then
  }
}

Busy::~Busy() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(ending_);
    ends_ = true;
  }
  ended_.notify_one();
  thread_.join();
  clear_progress();
}

void Busy::run() {
  const std::uint64_t start = monotonic_ns();
  std::unique_lock lock(ending_);
  for (auto pause = kFirst; !ended_.wait_for(lock, pause, [&] { return ends_; }); pause = kNext)
    show_progress(what_ + ", " + in_seconds(monotonic_ns() - start));
}

}  // namespace ctprof::cli
