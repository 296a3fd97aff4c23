// What keeps a person waiting, on one line of their terminal that is written over and over.
//
//   const Busy busy(options, "reading 8 files");   // after a second: "reading 8 files, 1.0 s"
//
// Nothing is shown where standard error is no terminal, or with --quiet. Whatever else is said
// takes the line's place first (clear_progress, which say() calls).
//
// Threads: any. A Busy has a thread of its own; a ctprof with capabilities has none, since a thread
// keeps those that it began with.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Whether anybody sees it.
bool shows_progress(const Options& options);
// "2.0 s"
std::string in_seconds(std::uint64_t ns);

// Says, from the first second on, that something is being done, and for how long.
class Busy {
 public:
  Busy(const Options& options, std::string what);
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  void run();

  std::string what_;
  std::mutex ending_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ctprof::cli
