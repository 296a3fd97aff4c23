// Asks debuginfod servers for files by build id: those that $DEBUGINFOD_URLS names.
//
// libdebuginfod does so, and is loaded when the first file is wanted; it keeps what it got in its
// cache. A file that takes too long or is too large is given up. The library obeys the environment,
// so nothing is asked where the executable has rights that its user does not have.
//
// Threads: one at a time, and one object at a time.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class Debuginfod {
 public:
  struct Limits {
    std::chrono::nanoseconds time_of_file = std::chrono::seconds(60);
    std::chrono::nanoseconds time = std::chrono::minutes(10);  // of all files
    std::uint64_t bytes_of_file = 2ULL << 30;
    const std::atomic<bool>* stop = nullptr;  // null, or: nothing is asked once it is true
  };
  enum class Wanted : std::uint8_t { DebugInformation, Program };

  // Fails if there are no servers, the library is not installed, or rights are lent.
  static Result<std::unique_ptr<Debuginfod>> open(const Limits& limits);
  ~Debuginfod();
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  // To be read with pread(2); none: no server has it, or a limit is reached.
  sdk::Fd find(const std::string& build_id, Wanted wanted);
  // Files that were given up for a limit.
  std::size_t given_up() const { return given_up_; }

 private:
  struct Library;
  Debuginfod(const Library& library, void* client, const Limits& limits);

  const Library& library_;
  void* client_;
  Limits limits_;
  std::chrono::nanoseconds spent_{0};
  std::size_t given_up_ = 0;
};

// Directories where the library keeps files, by the environment; none with lent rights.
std::vector<std::string> debuginfod_caches();

}  // namespace ctprof
