#include "core/compare/grouping/group_book.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/services.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {
namespace {

// Marks an axis that is read from the thread's process instead of a thread column.
constexpr std::string_view kNoColumn;

// The columns of a thread from which an axis builds its key.
struct Axis {
  GroupBy by;
  std::vector<std::string_view> columns;
};
// To add an axis, add a line here and its word in spec.cc.
const Axis& axis_of(GroupBy by) {
  static const std::vector<Axis> axes{{GroupBy::Pcomm, {kPcomm}},
                                      {GroupBy::Cgroup, {kCgroup}},
                                      {GroupBy::Comm, {kComm}},
                                      {GroupBy::CommExact, {kComm}},
                                      {GroupBy::All, {kCgroup, kPcomm, kComm}},
                                      {GroupBy::Pid, {kTgid}},
                                      {GroupBy::ProcessText, {kNoColumn}},
                                      {GroupBy::Service, {kCgroup}},
                                      {GroupBy::Tree, {kNoColumn}}};
  return *std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.by == by; });
}

std::vector<std::uint32_t> group_processes(const Snapshot& snapshot,
                                           const std::vector<std::uint32_t>& of_thread) {
  const Table& processes = snapshot.table(Entity::Process);
  const auto tgids = numbers_of_living(snapshot, kTgid), tids = numbers_of_living(snapshot, kTid);
  const auto process_tgids = numbers(processes, kProcessTgid);
  std::vector<std::uint32_t> groups(processes.rows, kNoGroup);
  if (tgids.size() != tids.size()) return groups;
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    const std::size_t leader = leader_row(process_tgids[row], tgids, tids);
    if (leader < tgids.size()) groups[row] = of_thread[leader];
  }
  return groups;
}

std::vector<std::uint32_t> count_rows(const std::vector<std::uint32_t>& of_row,
                                      std::size_t groups) {
  std::vector<std::uint32_t> rows(groups);
  for (const std::uint32_t group : of_row)
    if (group != kNoGroup) ++rows[group];
  return rows;
}

// Numbers the groups of a run in order of appearance.
class Numbering {
 public:
  explicit Numbering(RunGroups& groups) : groups_(&groups) {}

  void apply(std::vector<std::uint32_t>& rows) {
    for (std::uint32_t& row : rows)
      if (row != kNoGroup) row = number(row);
  }

 private:
  std::uint32_t number(std::uint32_t key) {
    if (key >= of_key_.size()) of_key_.resize(key + 1, kNoGroup);
    if (of_key_[key] == kNoGroup) {
      of_key_[key] = static_cast<std::uint32_t>(groups_->keys.size());
      groups_->keys.push_back(key);
    }
    return of_key_[key];
  }

  RunGroups* groups_;
  std::vector<std::uint32_t> of_key_;
};

// Returns the number of threads of each group. A group of a single process has the threads of that
// process.
std::vector<std::uint64_t> count_threads(const RowGroups& run, const Snapshot& snapshot) {
  const auto& processes = run.of_row[static_cast<std::size_t>(Entity::Process)];
  const auto& of_thread = run.of_row[static_cast<std::size_t>(Entity::Thread)];
  const std::vector<std::uint64_t> each = threads_by_row(snapshot);
  std::vector<std::uint64_t> threads(run.groups.count(Entity::Thread));
  for (std::size_t row = 0; row < of_thread.size(); ++row)
    if (of_thread[row] != kNoGroup) threads[of_thread[row]] += each[row];
  const auto tgids = numbers_of_living(snapshot, kTgid);
  const auto process_tgids = numbers(snapshot.table(Entity::Process), kProcessTgid);
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    const std::uint32_t group = processes[row];
    if (group == kNoGroup || run.groups.rows(Entity::Thread, group) > 0) continue;
    const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process_tgids[row]);
    for (auto at = first - tgids.begin(); at < last - tgids.begin(); ++at)
      threads[group] += of_thread[static_cast<std::size_t>(at)] != kNoGroup;
  }
  return threads;
}

// Computes the counts that follow from the groups of the rows.
void finish(RowGroups& run, const Snapshot& snapshot) {
  const auto rows_of = [&](Entity entity) -> auto& {
    return run.of_row[static_cast<std::size_t>(entity)];
  };
  rows_of(Entity::Host).assign(snapshot.table(Entity::Host).rows, 0);
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    run.groups.rows_of[entity] =
        count_rows(run.of_row[entity], run.groups.count(static_cast<Entity>(entity)));
  run.groups.threads = count_threads(run, snapshot);
}

// Converts the group numbers of rows to those of another run; kNoGroup where that run lacks the
// group.
decltype(RowGroups::of_row) renumbered(RowGroups rows, const RowGroups& run) {
  std::unordered_map<std::uint32_t, std::uint32_t> number_of;
  for (std::uint32_t group = 0; group < run.groups.keys.size(); ++group)
    number_of.emplace(run.groups.keys[group], group);
  for (auto& of_entity : rows.of_row)
    for (std::uint32_t& group : of_entity) {
      if (group == kNoGroup) continue;
      const auto found = number_of.find(rows.groups.keys[group]);
      group = found == number_of.end() ? kNoGroup : found->second;
    }
  return std::move(rows.of_row);
}

// The row of each thread that exited inside the window, by (tid, start time).
using EndedRows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>;
EndedRows ended_rows(const Snapshot& snapshot) {
  EndedRows found;
  const auto tids = numbers(snapshot.threads(), kTid);
  const auto starts = numbers(snapshot.threads(), kStartTime);
  for (std::size_t row = snapshot.window->living; row < std::min(tids.size(), starts.size()); ++row)
    found.emplace(std::pair(tids[row], starts[row]), row);
  return found;
}

// Moves a thread that exited, and its process, to the group of its row in the window, independent
// of their names at the opening. With `by_text`, processes that exited are not moved: the opening
// contains their texts.
void follow_ended(RowGroups& run, const Snapshot& snapshot, bool by_text) {
  const Snapshot& opening = *snapshot.window->opening_only;
  const EndedRows ended = ended_rows(snapshot);
  const auto tids = numbers(opening.threads(), kTid), tgids = numbers(opening.threads(), kTgid),
             starts = numbers(opening.threads(), kStartTime);
  const auto exited = numbers(opening.table(Entity::Process), kProcessTgid);
  auto& threads = run.of_opening_only[static_cast<std::size_t>(Entity::Thread)];
  auto& processes = run.of_opening_only[static_cast<std::size_t>(Entity::Process)];
  if (tids.size() != threads.size() || tgids.size() != tids.size() || starts.size() != tids.size())
    return;
  for (std::size_t row = 0; row < threads.size(); ++row) {
    const auto found = ended.find(std::pair(tids[row], starts[row]));
    if (found == ended.end()) continue;
    const auto process = std::ranges::lower_bound(exited, tgids[row]);
    const bool has_process = process != exited.end() && *process == tgids[row];
    if (by_text && has_process) continue;
    threads[row] = run.of_row[static_cast<std::size_t>(Entity::Thread)][found->second];
    if (has_process && tids[row] == tgids[row])
      processes[static_cast<std::size_t>(process - exited.begin())] = threads[row];
  }
}

}  // namespace

GroupBook::GroupBook(const Spec& spec)
    : by_(spec.group_by),
      group_metric_(spec.group_metric),
      each_process_(spec.literal_names && spec.group_by != GroupBy::Pid) {
  for (const std::string_view column : axis_of(spec.group_by).columns) {
    const bool literal = spec.literal_names || spec.group_by == GroupBy::CommExact ||
                         spec.group_by == GroupBy::Pid || spec.group_by == GroupBy::ProcessText ||
                         spec.group_by == GroupBy::Service || spec.group_by == GroupBy::Tree;
    Part& part = parts_.emplace_back();
    part.column = column;
    if (column == kCgroup && spec.group_by != GroupBy::Service)
      part.names.emplace<CgroupFamilies>(spec.cgroups);
    else if (!literal)
      part.names.emplace<NameFamilies>();
  }
  joints_.resize(parts_.size() - 1);
}

// Returns the name number of each row of a column. Each distinct name is looked up only once. A
// cell without a value has the empty name.
GroupBook::Rows GroupBook::take(Part& part, const Snapshot& snapshot, const Table& table,
                                std::string_view name, const Kept& kept) {
  const Column* column = table.find(name);
  if (column && column->def().storage != Storage::String) column = nullptr;
  const auto number_of = [&](std::string_view text) {
    if (by_ == GroupBy::Service) return std::get<LiteralNames>(part.names).add(service_of(text));
    return std::visit([&](auto& names) { return names.add(text); }, part.names);
  };
  Rows of_row(table.rows, kNoGroup), of_id(snapshot.pools->texts.size(), kNoGroup);
  std::uint32_t nameless = kNoGroup;
  for (std::size_t row = 0; row < of_row.size(); ++row) {
    if (!kept.empty() && !kept[row]) continue;
    const bool has_name = column && column->has_value(row);
    std::uint32_t& number = has_name ? of_id[column->ids()[row]] : nameless;
    if (number == kNoGroup)
      number = number_of(has_name ? snapshot.pools->texts[column->ids()[row]] : std::string_view{});
    of_row[row] = number;
  }
  return of_row;
}

// Returns the name number of each thread's process.
GroupBook::Rows GroupBook::take_processes(Part& part, const Snapshot& snapshot, const Kept& kept,
                                          std::optional<ProcessTrees>& trees) {
  const ProcessKeys processes(snapshot);
  const Column* metric =
      by_ == GroupBy::ProcessText ? find_process_text(snapshot, group_metric_) : nullptr;
  auto& names = std::get<LiteralNames>(part.names);
  Rows of_row(snapshot.threads().rows, kNoGroup);
  for (std::size_t row = 0; row < of_row.size(); ++row) {
    if (!kept.empty() && !kept[row]) continue;
    if (trees)
      of_row[row] = names.add(trees->of_thread(row));
    else if (by_ == GroupBy::Pid)
      of_row[row] = names.add(processes.of_thread(row));
    else
      of_row[row] = names.add(metric ? processes.text_of_thread(*metric, row) : std::string_view{});
  }
  return of_row;
}

// Numbers groups of threads and groups of single processes together.
void GroupBook::put_apart(Rows& threads, Rows& cgroups, Rows& processes, const Snapshot& snapshot) {
  const ProcessKeys keys(snapshot);
  const auto tgids = numbers_of_living(snapshot, kTgid), tids = numbers_of_living(snapshot, kTid);
  const auto process_tgids = numbers(snapshot.table(Entity::Process), kProcessTgid);
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    if (processes[row] == kNoGroup) continue;
    const std::size_t leader = leader_row(process_tgids[row], tgids, tids);
    const std::uint32_t name = process_names_.add(keys.of_process(row, leader));
    // Under `all`, the process name is inserted between the cgroup and the thread of its leader.
    const std::uint64_t beside = by_ == GroupBy::All ? processes[row] : 0;
    processes[row] = number_apart((beside + 1) << 32 | name);
  }
  for (Rows* rows : {&threads, &cgroups})
    for (std::uint32_t& row : *rows)
      if (row != kNoGroup) row = number_apart(row);
}

std::uint32_t GroupBook::number_apart(std::uint64_t pair) {
  const auto [place, is_new] =
      apart_.known.try_emplace(pair, static_cast<std::uint32_t>(apart_.pairs.size()));
  if (is_new) apart_.pairs.push_back(pair);
  return place->second;
}

// Combines the group number of each row with the name number of the next key part.
void GroupBook::combine(Rows& rows, const Rows& next, std::size_t part) {
  Joint& joint = joints_[part - 1];
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == kNoGroup) continue;
    const std::uint64_t pair = std::uint64_t{rows[row]} << 32 | next[row];
    const auto [place, is_new] =
        joint.known.try_emplace(pair, static_cast<std::uint32_t>(joint.pairs.size()));
    if (is_new) joint.pairs.push_back(pair);
    rows[row] = place->second;
  }
}

RowGroups GroupBook::add_rows(const Snapshot& snapshot, const Kept& kept,
                              std::optional<ProcessTrees>& trees) {
  RowGroups run;
  Rows& threads = run.of_row[static_cast<std::size_t>(Entity::Thread)];
  Rows& cgroups = run.of_row[static_cast<std::size_t>(Entity::Cgroup)];
  Rows& processes = run.of_row[static_cast<std::size_t>(Entity::Process)];
  const bool by_process =
      by_ == GroupBy::Pid || by_ == GroupBy::ProcessText || by_ == GroupBy::Tree;
  threads = by_process ? take_processes(parts_[0], snapshot, kept, trees)
                       : take(parts_[0], snapshot, snapshot.threads(), parts_[0].column, kept);
  for (std::size_t part = 1; part < parts_.size(); ++part)
    combine(threads, take(parts_[part], snapshot, snapshot.threads(), parts_[part].column, kept),
            part);
  const Table& table = snapshot.table(Entity::Cgroup);
  cgroups = by_ == GroupBy::Cgroup ? take(parts_[0], snapshot, table, kCgroupPath, {})
                                   : Rows(table.rows, kNoGroup);
  processes = group_processes(snapshot, threads);
  if (each_process_) put_apart(threads, cgroups, processes, snapshot);
  Numbering numbering(run.groups);
  numbering.apply(threads);
  numbering.apply(processes);
  numbering.apply(cgroups);
  finish(run, snapshot);
  return run;
}

RowGroups GroupBook::add(const Snapshot& snapshot, const Kept& kept, const Kept& kept_of_opening) {
  std::optional<ProcessTrees> trees, trees_of_opening;
  if (by_ == GroupBy::Tree) trees.emplace(snapshot);
  RowGroups run = add_rows(snapshot, kept, trees);
  if (!snapshot.window || !snapshot.window->opening_only) return run;
  const Snapshot& opening = *snapshot.window->opening_only;
  if (trees) trees_of_opening.emplace(opening, &*trees);
  run.of_opening_only = renumbered(add_rows(opening, kept_of_opening, trees_of_opening), run);
  if (!each_process_) follow_ended(run, snapshot, by_ == GroupBy::ProcessText);
  return run;
}

std::vector<std::string> GroupBook::keys() const {
  return named([](const Part& part) {
    return std::visit([](const auto& names) { return names.keys(); }, part.names);
  });
}

std::vector<std::string> GroupBook::patterns() const {
  return named([](const Part& part) {
    return std::visit([](const auto& names) { return names.patterns(); }, part.names);
  });
}

std::vector<std::string> GroupBook::named(Namer name) const {
  auto keys = name(parts_[0]);
  for (std::size_t part = 1; part < parts_.size(); ++part) {
    const auto next = name(parts_[part]);
    std::vector<std::string> joined;
    for (const std::uint64_t pair : joints_[part - 1].pairs)
      joined.push_back(keys[pair >> 32] + kBetweenParts + next[static_cast<std::uint32_t>(pair)]);
    keys = std::move(joined);
  }
  return each_process_ ? keys_apart(keys) : keys;
}

std::vector<std::string> GroupBook::keys_apart(const std::vector<std::string>& keys) const {
  const auto names = process_names_.keys();
  std::vector<std::string> found;
  for (const std::uint64_t pair : apart_.pairs) {
    const std::uint64_t beside = pair >> 32;
    const std::string& named = beside > 0 ? names[static_cast<std::uint32_t>(pair)] : keys[pair];
    if (beside == 0 || by_ != GroupBy::All) {
      found.push_back(named);
      continue;
    }
    const std::string& leader = keys[beside - 1];
    const auto first = leader.find(kBetweenParts), last = leader.rfind(kBetweenParts);
    found.push_back(leader.substr(0, first + 1) + named + leader.substr(last));
  }
  return found;
}

}  // namespace ctprof
