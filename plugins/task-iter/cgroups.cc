#include "plugins/task-iter/cgroups.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace ctprof::task_iter {

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
