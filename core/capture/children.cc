#include "core/capture/children.hpp"

#include <set>
#include <string>
#include <utility>

#include "core/capture/identity_reader.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

struct Child {
  std::uint64_t tgid, parent;
};

// Returns the processes that started at `since_ticks` or later.
std::vector<Child> list_processes_started_since(int proc, std::uint64_t since_ticks) {
  std::vector<Child> children;
  sdk::TextFile file;
  const auto tgids = Walker().processes(proc);
  if (!tgids) return children;
  for (const std::uint64_t tgid : *tgids) {
    const auto text = file.read(proc, (std::to_string(tgid) + "/stat").c_str());
    const auto stat = text ? parse_stat_identity(text.value) : std::nullopt;
    if (stat && stat->start_time >= since_ticks) children.push_back({tgid, stat->parent});
  }
  return children;
}

}  // namespace

std::vector<std::uint64_t> find_descendants(int proc, const std::vector<std::uint64_t>& family,
                                            std::uint64_t since_ticks) {
  std::set<std::uint64_t> all(family.begin(), family.end());
  const std::vector<Child> children = list_processes_started_since(proc, since_ticks);
  std::vector<std::uint64_t> found;
  for (std::size_t before = all.size() + 1; before != all.size();) {
    before = all.size();
    for (const auto& [tgid, parent] : children)
      if (all.contains(parent) && all.insert(tgid).second) found.push_back(tgid);
  }
  return found;
}

}  // namespace ctprof
