// Reads the two texts that a record lacks from /proc: long names of kernel threads, and paths of
// cgroups.
//
// A name in a record is truncated after 15 bytes, which only affects kernel threads. Their full
// names are read once each; those of workers are read every time, because they change with the
// work.
//
// The path of a cgroup comes from the file of a thread in it, so that it is the same text in every
// capture: relative to the cgroup namespace of ctprof. A thread may move between the record and the
// read, so a path is stored for an id only if the directory at that path has this id. A path that
// cannot be found that way (outside the namespace, deleted) is read again for each thread.

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

class ThreadNames {
 public:
  explicit ThreadNames(const sdk::Host& host) : host_(host) {}

  // Returns the name; valid until the next call, or as long as the record.
  std::string_view read_name(const record& task);

 private:
  std::string_view read_from_comm(const record& task);

  sdk::Host host_;
  sdk::TextFile file_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> cached_names_;  // by id and start
};

class CgroupPaths {
 public:
  explicit CgroupPaths(const sdk::Host& host) : host_(host) {}

  // Returns the path; valid until the next call.
  sdk::Reading<std::string_view> read_path(const record& task);
  // Returns the path in the thread's file, without an id.
  sdk::Reading<std::string_view> read_path_of_thread(std::uint64_t tgid, std::uint64_t tid);

 private:
  bool has_cgroup_id(std::uint64_t id, const std::string& path) const;

  sdk::Host host_;
  sdk::TextFile file_;
  std::unordered_map<std::uint64_t, std::string> paths_;
};

// Returns the text after "0::" in a thread's cgroup file; Unsupported if there is no such line.
sdk::Reading<std::string_view> find_unified_path(std::string_view text);

}  // namespace ctprof::task_iter
