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

class DebuginfodClient {
 public:
  struct Limits {
    std::chrono::nanoseconds time_per_file = std::chrono::seconds(60);
    std::chrono::nanoseconds total_time = std::chrono::minutes(10);  // for all files
    std::uint64_t bytes_per_file = 2ULL << 30;
    const std::atomic<bool>* stop = nullptr;  // if not null: no request is made once it is true
  };
  enum class FileKind : std::uint8_t { DebugInformation, Executable };

  // Fails if there are no servers, the library is not installed, or rights are elevated.
  static Result<std::unique_ptr<DebuginfodClient>> open(const Limits& limits);
  ~DebuginfodClient();
  DebuginfodClient(const DebuginfodClient&) = delete;
  DebuginfodClient& operator=(const DebuginfodClient&) = delete;

  // Fetches a file for pread(2); returns nothing if no server has it or a limit is reached.
  sdk::Fd fetch(const std::string& build_id, FileKind kind);
  // Returns the number of files that were abandoned because of a limit.
  std::size_t count_abandoned_files() const { return abandoned_files_; }

 private:
  struct Library;
  DebuginfodClient(const Library& library, void* client, const Limits& limits);

  const Library& library_;
  void* client_;
  Limits limits_;
  std::chrono::nanoseconds elapsed_{0};
  std::size_t abandoned_files_ = 0;
};

// Returns the directories where the library caches files, from the environment; none with elevated
// rights.
std::vector<std::string> find_debuginfod_caches();

}  // namespace ctprof
