#include "plugins/task-iter/names.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "ctprof/listing.hpp"
#include "plugins/task-iter/decode.hpp"

namespace ctprof::task_iter {
namespace {

bool is_worker(const record& task) { return (task.flags & kWorker) != 0; }

// Returns whether the name may be truncated: it fills its buffer. User threads have no longer
// names.
bool is_truncated(const record& task) {
  return (task.flags & kKernelThread) != 0 && short_name(task).size() == RECORD_COMM - 1;
}

}  // namespace

std::string_view ThreadNames::read_name(const record& task) {
  if (!is_truncated(task)) return short_name(task);
  const auto [entry, is_new] = cached_names_.try_emplace({task.tid, task.start_boottime});
  if (is_new) entry->second = read_from_comm(task);
  return entry->second;
}

std::string_view ThreadNames::read_from_comm(const record& task) {
  const auto text = file_.read(host_, {0, task.tgid, task.tid, -1}, "comm");
  if (!text) return short_name(task);
  const std::string_view name = sdk::name_in_comm(text.value);
  return is_worker(task) ? sdk::worker_name(name) : name;
}

sdk::Reading<std::string_view> CgroupPaths::read_path(const record& task) {
  if (const auto path_entry = paths_.find(task.cgroup_id); path_entry != paths_.end())
    return std::string_view(path_entry->second);
  const auto path = read_path_of_thread(task.tgid, task.tid);
  if (!path) return path;
  std::string stored_path(path.value);
  if (!has_cgroup_id(task.cgroup_id, stored_path)) return path;
  return std::string_view(paths_.emplace(task.cgroup_id, std::move(stored_path)).first->second);
}

sdk::Reading<std::string_view> CgroupPaths::read_path_of_thread(std::uint64_t tgid,
                                                                std::uint64_t tid) {
  const auto text = file_.read(host_, {0, tgid, tid, -1}, "cgroup");
  return text ? find_unified_path(text.value) : text;
}

bool CgroupPaths::has_cgroup_id(std::uint64_t id, const std::string& path) const {
  struct stat status;
  return ::fstatat(host_.cgroup(), ("." + path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_ino == id;
}

sdk::Reading<std::string_view> find_unified_path(std::string_view text) {
  while (!text.empty())
    if (std::string_view line = sdk::take(text, '\n'); line.starts_with("0::/"))
      return line.substr(3);
  return Gap::Unsupported;
}

}  // namespace ctprof::task_iter
