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
bool is_cut(const record& task) {
  return (task.flags & kKernelThread) != 0 && short_name(task).size() == RECORD_COMM - 1;
}

}  // namespace

std::string_view Names::of(const record& task) {
  if (!is_cut(task)) return short_name(task);
  const auto [known, is_new] = known_.try_emplace({task.tid, task.start_boottime});
  if (is_new) known->second = read(task);
  return known->second;
}

std::string_view Names::read(const record& task) {
  const auto text = file_.read(host_, {0, task.tgid, task.tid, -1}, "comm");
  if (!text) return short_name(task);
  const std::string_view name = sdk::name_in_comm(text.value);
  return is_worker(task) ? sdk::worker_name(name) : name;
}

sdk::Reading<std::string_view> Cgroups::of(const record& task) {
  if (const auto known = paths_.find(task.cgroup_id); known != paths_.end())
    return std::string_view(known->second);
  const auto path = read(task.tgid, task.tid);
  if (!path) return path;
  std::string kept(path.value);
  if (!is_of(task.cgroup_id, kept)) return path;
  return std::string_view(paths_.emplace(task.cgroup_id, std::move(kept)).first->second);
}

sdk::Reading<std::string_view> Cgroups::read(std::uint64_t tgid, std::uint64_t tid) {
  const auto text = file_.read(host_, {0, tgid, tid, -1}, "cgroup");
  return text ? unified_path(text.value) : text;
}

bool Cgroups::is_of(std::uint64_t id, const std::string& path) const {
  struct stat status;
  return ::fstatat(host_.cgroup(), ("." + path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_ino == id;
}

sdk::Reading<std::string_view> unified_path(std::string_view text) {
  while (!text.empty())
    if (std::string_view line = sdk::take(text, '\n'); line.starts_with("0::/"))
      return line.substr(3);
  return Gap::Unsupported;
}

}  // namespace ctprof::task_iter
