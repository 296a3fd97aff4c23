// The two texts that a record lacks, from /proc: long names of kernel threads, and paths of
// cgroups.
//
// A name in a record is cut off after 15 bytes, which matters for kernel threads only: their whole
// names are read once each, those of workers each time, as they change with the work.
//
// The path of a cgroup comes from the file of a thread in it, so that it is the same text in every
// capture: relative to our cgroup namespace. As a thread may move between the record and the read,
// a path is kept for an id only if the directory of that path has that id. A path that cannot be
// found that way (outside our namespace, deleted) is read again for each thread.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/task-iter/record.h"

namespace ctprof::task_iter {

class Names {
 public:
  explicit Names(const sdk::Host& host) : host_(host) {}

  // The name; valid until the next call, or as long as the record.
  std::string_view of(const record& task);

 private:
  std::string_view read(const record& task);

  sdk::Host host_;
  sdk::TextFile file_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> known_;  // by id and start
};

class Cgroups {
 public:
  explicit Cgroups(const sdk::Host& host) : host_(host) {}

  // The path; valid until the next call.
  sdk::Reading<std::string_view> of(const record& task);
  // The same by the thread's file, without an id.
  sdk::Reading<std::string_view> read(std::uint64_t tgid, std::uint64_t tid);

 private:
  bool is_of(std::uint64_t id, const std::string& path) const;

  sdk::Host host_;
  sdk::TextFile file_;
  std::unordered_map<std::uint64_t, std::string> paths_;
};

// What follows "0::" in a thread's cgroup file; Unsupported when there is no such line.
sdk::Reading<std::string_view> unified_path(std::string_view text);

}  // namespace ctprof::task_iter
