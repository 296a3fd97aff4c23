// Requests unwind tables from ctprof for files that a BPF program encountered, and stores the
// answers in the maps of the program.
//
//   requests.add_miss(tgid, miss);            // for a record of the program
//   requests.exchange(records, tables);       // at each drain
//
// A process may exit before its file is opened, while another process that maps the file lives on.
// Therefore a file without a table is requested again, a few times.
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

// Joins two remarks; either may be empty.
std::string join_remarks(const std::string& first, const std::string& second);

class WalkRequests {
 public:
  static constexpr unsigned kMaxAttempts = 8;  // of one file

  // The first request is for the vDSO.
  WalkRequests() : requests_(1) {}

  // Records the path of a file that a process maps. `device` is the kernel-internal device number.
  void add_path(std::uint32_t device, std::uint64_t inode, std::string_view path);
  // Records that a process runs code of a file without a table. A miss without a file refers to the
  // vDSO and is ignored, because the first request is for the vDSO.
  void add_miss(std::uint64_t tgid, const walk_miss& miss);
  void exchange(const sdk::Records& records, WalkTables& tables);
  // Returns sentences for the user about files whose tables did not fit, and about walks that found
  // a file for which the program's list of files has no space (`unlisted_walks`); empty if there
  // are none.
  std::string describe_refused_tables(const std::string& recorder,
                                      std::uint64_t unlisted_walks) const;

 private:
  struct Request {
    std::uint64_t tgid = 0;
    walk_miss miss{};
  };

  void send_request(const sdk::Records& records, std::uint64_t number) const;

  std::vector<Request> requests_;  // indexed by request number
  std::size_t sent_requests_ = 0;
  std::uint64_t refused_tables_ = 0;                             // tables that did not fit
  std::unordered_map<std::uint64_t, unsigned> failed_attempts_;  // attempts by device and inode
  std::unordered_map<std::uint64_t, std::string> paths_;         // of files, by device and inode
};

}  // namespace ctprof
