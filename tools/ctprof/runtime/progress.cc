#include "tools/ctprof/runtime/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/registry/loader.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

constexpr std::chrono::milliseconds kFirstDelay{1000}, kUpdateInterval{500};

}  // namespace

bool is_progress_visible(const CommonOptions& options) {
  return !options.quiet && ::isatty(STDERR_FILENO) == 1;
}

ActivityProgress::ActivityProgress(const CommonOptions& options, std::string activity)
    : activity_(std::move(activity)) {
  if (!is_progress_visible(options) || runs_privileged()) return;
  try {
    thread_ = std::thread(&ActivityProgress::run, this);
  } catch (const std::system_error&) {
    return;  // no progress is shown then
  }
}

ActivityProgress::~ActivityProgress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  end_condition_.notify_one();
  thread_.join();
  clear_progress();
}

void ActivityProgress::run() {
  const std::uint64_t start = monotonic_ns();
  std::unique_lock lock(mutex_);
  for (auto pause = kFirstDelay; !end_condition_.wait_for(lock, pause, [&] { return is_ending_; });
       pause = kUpdateInterval)
    show_progress(activity_ + ", " + format_seconds(monotonic_ns() - start));
}

}  // namespace ctprof::cli
