#include "tools/ctprof/runtime/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/registry/loader.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1000}, kNext{500};

}  // namespace

bool shows_progress(const Options& options) {
  return !options.quiet && ::isatty(STDERR_FILENO) == 1;
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
    return;  // no progress is shown then
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
