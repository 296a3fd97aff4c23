#include "core/capture/other_rows.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

Column& add_key(Table& table, std::string_view name) {
  Column& column = table.add(identity_metric(name), Gap::Untouched);
  column.provenance = {identity_metric(name).plugin, "lister", Gap::None, {}};
  return column;
}

// The path's parent: "/a/b" to "/a", "/a" to "/".
std::string_view parent_of(std::string_view path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

}  // namespace

void add_process_rows(Snapshot& snapshot) {
  const Table& threads = snapshot.threads();
  const auto thread_tgid = threads.find(kTgid)->u64();
  const Column& thread_pcomm = *threads.find(kPcomm);
  std::vector<std::size_t> firsts;
  for (std::size_t row = 0; row < threads.rows; ++row)
    if (row == 0 || thread_tgid[row] != thread_tgid[row - 1]) firsts.push_back(row);

  Table& processes = snapshot.table(Entity::Process);
  processes.rows = firsts.size();
  Column& tgid = add_key(processes, kProcessTgid);
  Column& pcomm = add_key(processes, kProcessPcomm);
  for (std::size_t row = 0; row < firsts.size(); ++row) {
    tgid.u64()[row] = thread_tgid[firsts[row]];
    tgid.gaps()[row] = CTPROF_VALUE;
    pcomm.ids()[row] = thread_pcomm.ids()[firsts[row]];
    pcomm.gaps()[row] = thread_pcomm.gaps()[firsts[row]];
  }
  for (Column& column : processes.columns)
    if (column.rows() != processes.rows) column.resize(processes.rows, Gap::Untouched);
}

void add_cgroup_rows(Snapshot& snapshot) {
  const Column& cgroup = *snapshot.threads().find(kCgroup);
  TextPool& texts = snapshot.pools->texts;
  std::set<Id> seen;
  std::set<std::string_view> paths;
  for (std::size_t row = 0; row < cgroup.rows(); ++row) {
    if (!cgroup.has_value(row) || !seen.insert(cgroup.ids()[row]).second) continue;
    for (std::string_view path = texts[cgroup.ids()[row]];
         paths.insert(path).second && path.size() > 1;)
      path = parent_of(path);
  }
  Table& table = snapshot.table(Entity::Cgroup);
  table.rows = paths.size();
  Column& column = add_key(table, kCgroupPath);
  std::size_t row = 0;
  for (const std::string_view path : paths) {
    column.ids()[row] = texts.intern(path);
    column.gaps()[row++] = CTPROF_VALUE;
  }
}

void add_host_row(Snapshot& snapshot) { snapshot.table(Entity::Host).rows = 1; }

}  // namespace ctprof
