// Asks ctprof for unwind tables of files that a program in the kernel met, and hands the answers to
// the maps of the program.
//
//   requests.note(tgid, miss);                // of a record of the program
//   requests.exchange(records, tables);       // at each drain
//
// A process may have exited before its file is opened, and another that maps the file may live: so
// a file without a table is asked for again, some times.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctprof/records.hpp"
#include "plugins/shared/walk_tables.hpp"

namespace ctprof {

// Two remarks in one; either may be empty.
std::string joined_remarks(const std::string& first, const std::string& second);

class WalkRequests {
 public:
  static constexpr unsigned kMostAttempts = 8;  // of one file

  // The vDSO is asked for first.
  WalkRequests() : requests_(1) {}

  // The path of a file that a process maps. `device` is as the kernel numbers it inside of it.
  void note_path(std::uint32_t device, std::uint64_t inode, std::string_view path);
  // A process runs code of a file that has no table yet. A miss without a file is of the vDSO,
  // which the first request asks for: it is ignored.
  void note(std::uint64_t tgid, const walk_miss& miss);
  void exchange(const sdk::Records& records, WalkTables& tables);
  // A sentence for the user about files whose tables found no space; empty if there are none.
  std::string remark(const std::string& recorder) const;

 private:
  struct Request {
    std::uint64_t tgid = 0;
    walk_miss miss{};
  };

  void ask(const sdk::Records& records, std::uint64_t number) const;

  std::vector<Request> requests_;  // by number
  std::size_t asked_ = 0;
  std::uint64_t refused_ = 0;                             // tables for which there was no space
  std::unordered_map<std::uint64_t, unsigned> failed_;    // attempts, by device and inode
  std::unordered_map<std::uint64_t, std::string> paths_;  // of files, by device and inode
};

}  // namespace ctprof
