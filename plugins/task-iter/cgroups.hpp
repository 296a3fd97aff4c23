// Paths of cgroups by the ids that records have, each asked for once.
//
// The path is that of the thread's file in /proc, so that it is the same text whoever captures:
// relative to our cgroup namespace. A thread may move between the record and the reading; so a path
// is kept for its id only where the directory of that path has that id. One that cannot be found
// that way (outside our namespace, deleted) is asked for again for each thread.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/task-iter/record.h"

namespace ctprof::task_iter {

class Cgroups {
 public:
  explicit Cgroups(const sdk::Host& host) : host_(host) {}

  // The path lives until the next call.
  sdk::Reading<std::string_view> of(const record& task);
  // By the thread's file.
  sdk::Reading<std::string_view> read(std::uint64_t tgid, std::uint64_t tid);

 private:
  bool is_of(std::uint64_t id, const std::string& path) const;

  sdk::Host host_;
  sdk::TextFile file_;
  std::unordered_map<std::uint64_t, std::string> paths_;
};

// What stands behind "0::" in a thread's file; nothing when no such line is there.
sdk::Reading<std::string_view> unified_path(std::string_view text);

}  // namespace ctprof::task_iter
