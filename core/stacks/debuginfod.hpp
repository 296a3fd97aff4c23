// Fetches files by build id from the debuginfod servers in $DEBUGINFOD_URLS.
//
// libdebuginfod does the transfer. It is loaded at the first request, and stores files in its
// cache. A file that takes too long or is too large is abandoned. The library obeys the
// environment, so no server is contacted if the executable has rights that its user does not have.
//
// Threads: not thread-safe; only one object may be in use at a time.

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
    std::chrono::nanoseconds time = std::chrono::minutes(10);  // for all files
    std::uint64_t bytes_of_file = 2ULL << 30;
    const std::atomic<bool>* stop = nullptr;  // if not null: no request is made once it is true
  };
  enum class Wanted : std::uint8_t { DebugInformation, Program };

  // Fails if there are no servers, the library is not installed, or rights are elevated.
  static Result<std::unique_ptr<Debuginfod>> open(const Limits& limits);
  ~Debuginfod();
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  // Fetches a file for pread(2); returns nothing if no server has it or a limit is reached.
  sdk::Fd find(const std::string& build_id, Wanted wanted);
  // Returns the number of files that were abandoned because of a limit.
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

// Returns the directories where the library caches files, from the environment; none with elevated
// rights.
std::vector<std::string> debuginfod_caches();

}  // namespace ctprof
