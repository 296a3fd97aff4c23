// Shows on one line of the terminal which operation is in progress. The line is rewritten in place.
//
//   const ActivityProgress progress(options, "reading 8 files");
//   // after a second: "reading 8 files, 1.0 s"
//
// Nothing is shown if standard error is not a terminal, or with --quiet. Other output clears the
// line first (clear_progress, which print_to_stderr() calls).
//
// Threads: any. An ActivityProgress has a thread of its own. In a ctprof with file capabilities it
// has none, because a new thread would keep these capabilities.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// Whether progress is visible.
bool is_progress_visible(const CommonOptions& options);

// Shows, after the first second, an operation and its duration so far.
class ActivityProgress {
 public:
  ActivityProgress(const CommonOptions& options, std::string activity);
  ~ActivityProgress();
  ActivityProgress(const ActivityProgress&) = delete;
  ActivityProgress& operator=(const ActivityProgress&) = delete;

 private:
  void run();

  std::string activity_;
  std::mutex mutex_;
  std::condition_variable end_condition_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace ctprof::cli
