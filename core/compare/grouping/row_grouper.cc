#include "core/compare/grouping/row_grouper.hpp"

#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/compare/grouping/services.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_exited_threads.hpp"

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
const Axis& find_axis(GroupBy by) {
  static const std::vector<Axis> axes{{GroupBy::Pcomm, {kPcomm}},
                                      {GroupBy::Cgroup, {kCgroup}},
                                      {GroupBy::Comm, {kComm}},
                                      {GroupBy::CommExact, {kComm}},
                                      {GroupBy::All, {kCgroup, kPcomm, kComm}},
                                      {GroupBy::Pid, {kTgid}},
                                      {GroupBy::ProcessText, {kNoColumn}},
                                      {GroupBy::Service, {kCgroup}},
                                      {GroupBy::Tree, {kNoColumn}},
                                      {GroupBy::Entity, {kNoColumn}}};
  return *std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.by == by; });
}

std::vector<std::uint32_t> group_processes(const Snapshot& snapshot,
                                           const std::vector<std::uint32_t>& group_of_thread) {
  const Table& processes = snapshot.table(Entity::Process);
  const auto tgids = u64_values_of_living(snapshot, kTgid),
             tids = u64_values_of_living(snapshot, kTid);
  const auto process_tgids = u64_values(processes, kProcessTgid);
  std::vector<std::uint32_t> groups(processes.rows, kNoGroup);
  if (tgids.size() != tids.size()) return groups;
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    const std::size_t leader = leader_row(process_tgids[row], tgids, tids);
    if (leader < tgids.size()) groups[row] = group_of_thread[leader];
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
class GroupNumbering {
 public:
  explicit GroupNumbering(RunGroups& groups) : groups_(&groups) {}

  void apply(std::vector<std::uint32_t>& rows) {
    for (std::uint32_t& row : rows)
      if (row != kNoGroup) row = number(row);
  }

 private:
  std::uint32_t number(std::uint32_t key) {
    if (key >= number_of_key_.size()) number_of_key_.resize(key + 1, kNoGroup);
    if (number_of_key_[key] == kNoGroup) {
      number_of_key_[key] = static_cast<std::uint32_t>(groups_->keys.size());
      groups_->keys.push_back(key);
    }
    return number_of_key_[key];
  }

  RunGroups* groups_;
  std::vector<std::uint32_t> number_of_key_;
};

// Returns the number of threads of each group. A group of a single process has the threads of that
// process.
std::vector<std::uint64_t> count_threads(const RowGroups& run, const Snapshot& snapshot) {
  const auto& processes = run.group_of_row[static_cast<std::size_t>(Entity::Process)];
  const auto& group_of_thread = run.group_of_row[static_cast<std::size_t>(Entity::Thread)];
  const std::vector<std::uint64_t> threads_of_row = threads_by_row(snapshot);
  std::vector<std::uint64_t> threads(run.groups.count(Entity::Thread));
  for (std::size_t row = 0; row < group_of_thread.size(); ++row)
    if (group_of_thread[row] != kNoGroup) threads[group_of_thread[row]] += threads_of_row[row];
  const auto tgids = u64_values_of_living(snapshot, kTgid);
  const auto process_tgids = u64_values(snapshot.table(Entity::Process), kProcessTgid);
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    const std::uint32_t group = processes[row];
    if (group == kNoGroup || run.groups.rows(Entity::Thread, group) > 0) continue;
    const auto [first, last] = std::equal_range(tgids.begin(), tgids.end(), process_tgids[row]);
    for (auto at = first - tgids.begin(); at < last - tgids.begin(); ++at)
      threads[group] += group_of_thread[static_cast<std::size_t>(at)] != kNoGroup;
  }
  return threads;
}

// Computes the counts that follow from the groups of the rows.
void count_rows_and_threads(RowGroups& run, const Snapshot& snapshot) {
  const auto rows_of = [&](Entity entity) -> auto& {
    return run.group_of_row[static_cast<std::size_t>(entity)];
  };
  rows_of(Entity::Host).assign(snapshot.table(Entity::Host).rows, 0);
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    run.groups.rows_of[entity] =
        count_rows(run.group_of_row[entity], run.groups.count(static_cast<Entity>(entity)));
  run.groups.threads = count_threads(run, snapshot);
}

}  // namespace

RowGrouper::RowGrouper(const Spec& spec)
    : group_by_(spec.group_by),
      group_metric_(spec.group_metric),
      entity_(spec.entity),
      separates_processes_(spec.literal_names && spec.group_by != GroupBy::Pid &&
                           spec.group_by != GroupBy::Entity) {
  for (const std::string_view column : find_axis(spec.group_by).columns) {
    const bool literal = spec.literal_names || spec.group_by == GroupBy::CommExact ||
                         spec.group_by == GroupBy::Pid || spec.group_by == GroupBy::ProcessText ||
                         spec.group_by == GroupBy::Service || spec.group_by == GroupBy::Tree ||
                         spec.group_by == GroupBy::Entity;
    KeyPart& part = parts_.emplace_back();
    part.column = column;
    if (column == kCgroup && spec.group_by != GroupBy::Service)
      part.names.emplace<CgroupFamilies>(spec.cgroups);
    else if (!literal)
      part.names.emplace<NameFamilies>();
  }
  if (spec.divides_by_cgroup && group_by_ == GroupBy::Pcomm && !separates_processes_)
    cgroups_.emplace(spec.cgroups);
  pair_numbers_.resize(cgroups_ ? 1 : parts_.size() - 1);
}

// Returns the name number of each row of a column. Each distinct name is looked up only once. A
// cell without a value has the empty name.
RowGrouper::Rows RowGrouper::number_names(KeyPart& part, const Snapshot& snapshot,
                                          const Table& table, std::string_view name,
                                          const KeptRows& kept_rows) {
  const Column* column = table.find(name);
  if (column && column->def().storage != Storage::String) column = nullptr;
  const auto number_of = [&](std::string_view text) {
    if (group_by_ == GroupBy::Service)
      return std::get<LiteralNames>(part.names).add(find_service(text));
    return std::visit([&](auto& names) { return names.add(text); }, part.names);
  };
  Rows number_of_row(table.rows, kNoGroup), number_of_id(snapshot.pools->texts.size(), kNoGroup);
  std::uint32_t empty_name_number = kNoGroup;
  for (std::size_t row = 0; row < number_of_row.size(); ++row) {
    if (!kept_rows.empty() && !kept_rows[row]) continue;
    const bool has_name = column && column->has_value(row);
    std::uint32_t& number = has_name ? number_of_id[column->ids()[row]] : empty_name_number;
    if (number == kNoGroup)
      number = number_of(has_name ? snapshot.pools->texts[column->ids()[row]] : std::string_view{});
    number_of_row[row] = number;
  }
  return number_of_row;
}

// Returns the name number of each thread's process.
RowGrouper::Rows RowGrouper::number_processes(KeyPart& part, const Snapshot& snapshot,
                                              const KeptRows& kept_rows,
                                              std::optional<ProcessTrees>& trees) {
  const ProcessKeys processes(snapshot);
  const Column* metric =
      group_by_ == GroupBy::ProcessText ? find_process_text(snapshot, group_metric_) : nullptr;
  auto& names = std::get<LiteralNames>(part.names);
  Rows number_of_row(snapshot.threads().rows, kNoGroup);
  for (std::size_t row = 0; row < number_of_row.size(); ++row) {
    if (!kept_rows.empty() && !kept_rows[row]) continue;
    if (trees)
      number_of_row[row] = names.add(trees->tree_name_of_thread(row));
    else if (group_by_ == GroupBy::Pid)
      number_of_row[row] = names.add(processes.key_of_thread(row));
    else
      number_of_row[row] =
          names.add(metric ? processes.process_text_of_thread(*metric, row) : std::string_view{});
  }
  return number_of_row;
}

// Numbers groups of threads and groups of single processes together.
void RowGrouper::separate_processes(Rows& threads, Rows& cgroups, Rows& processes,
                                    const Snapshot& snapshot) {
  const ProcessKeys keys(snapshot);
  const auto tgids = u64_values_of_living(snapshot, kTgid),
             tids = u64_values_of_living(snapshot, kTid);
  const auto process_tgids = u64_values(snapshot.table(Entity::Process), kProcessTgid);
  for (std::size_t row = 0; row < process_tgids.size(); ++row) {
    if (processes[row] == kNoGroup) continue;
    const std::size_t leader = leader_row(process_tgids[row], tgids, tids);
    const std::uint32_t name = process_names_.add(keys.key_of_process(row, leader));
    // Under `all`, the process name is inserted between the cgroup and the thread of its leader.
    const std::uint64_t leader_group = group_by_ == GroupBy::All ? processes[row] : 0;
    processes[row] = number_separate_group((leader_group + 1) << 32 | name);
  }
  for (Rows* rows : {&threads, &cgroups})
    for (std::uint32_t& row : *rows)
      if (row != kNoGroup) row = number_separate_group(row);
}

std::uint32_t RowGrouper::number_separate_group(std::uint64_t pair) {
  const auto [place, is_new] = separate_groups_.number_of_pair.try_emplace(
      pair, static_cast<std::uint32_t>(separate_groups_.pairs.size()));
  if (is_new) separate_groups_.pairs.push_back(pair);
  return place->second;
}

// Combines the group number of each row with the name number of the next key part.
void RowGrouper::combine(Rows& rows, const Rows& next, std::size_t part) {
  PairNumbers& pair_numbers = pair_numbers_[part - 1];
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == kNoGroup) continue;
    const std::uint64_t pair = std::uint64_t{rows[row]} << 32 | next[row];
    const auto [place, is_new] = pair_numbers.number_of_pair.try_emplace(
        pair, static_cast<std::uint32_t>(pair_numbers.pairs.size()));
    if (is_new) pair_numbers.pairs.push_back(pair);
    rows[row] = place->second;
  }
}

void RowGrouper::divide_by_cgroup(Rows& names, const Snapshot& snapshot, const Snapshot& window) {
  Rows cgroups = cgroups_->number_rows(snapshot, window);
  if (&snapshot == &window)
    cgroups_->add_run(names, cgroups);
  else
    cgroups_->move_opening_rows(names, cgroups);
  combine(names, cgroups, 1);
}

// Groups only the rows of the entity; each row counts as a thread of its group.
RowGroups RowGrouper::add_rows_of_entity(const Snapshot& snapshot, const KeptRows& kept_rows) {
  RowGroups run;
  for (const Entity entity : grouped_entities())
    run.group_of_row[static_cast<std::size_t>(entity)].assign(snapshot.table(entity).rows,
                                                              kNoGroup);
  const Table& table = snapshot.table(entity_);
  Rows& rows = run.group_of_row[static_cast<std::size_t>(entity_)];
  auto& names = std::get<LiteralNames>(parts_[0].names);
  const auto columns = identity_columns(table);
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (kept_rows.empty() || kept_rows[row])
      rows[row] = names.add(
          join_texts(identity_of_row(columns, row, *snapshot.pools), {&kPartSeparator, 1}));
  GroupNumbering(run.groups).apply(rows);
  count_rows_and_threads(run, snapshot);
  const auto& counts = run.groups.rows_of[static_cast<std::size_t>(entity_)];
  run.groups.threads.assign(counts.begin(), counts.end());
  return run;
}

RowGroups RowGrouper::add_rows(const Snapshot& snapshot, const Snapshot& window,
                               const KeptRows& kept_rows, std::optional<ProcessTrees>& trees) {
  if (group_by_ == GroupBy::Entity) return add_rows_of_entity(snapshot, kept_rows);
  RowGroups run;
  Rows& threads = run.group_of_row[static_cast<std::size_t>(Entity::Thread)];
  Rows& cgroups = run.group_of_row[static_cast<std::size_t>(Entity::Cgroup)];
  Rows& processes = run.group_of_row[static_cast<std::size_t>(Entity::Process)];
  const bool by_process =
      group_by_ == GroupBy::Pid || group_by_ == GroupBy::ProcessText || group_by_ == GroupBy::Tree;
  threads = by_process ? number_processes(parts_[0], snapshot, kept_rows, trees)
                       : number_names(parts_[0], snapshot, snapshot.threads(), parts_[0].column,
                                      kept_rows);
  for (std::size_t part = 1; part < parts_.size(); ++part)
    combine(
        threads,
        number_names(parts_[part], snapshot, snapshot.threads(), parts_[part].column, kept_rows),
        part);
  if (cgroups_) divide_by_cgroup(threads, snapshot, window);
  const Table& table = snapshot.table(Entity::Cgroup);
  cgroups = group_by_ == GroupBy::Cgroup ? number_names(parts_[0], snapshot, table, kCgroupPath, {})
                                         : Rows(table.rows, kNoGroup);
  processes = group_processes(snapshot, threads);
  for (const Entity entity : grouped_entities())
    if (is_of_plugin(entity))
      run.group_of_row[static_cast<std::size_t>(entity)].assign(snapshot.table(entity).rows,
                                                                kNoGroup);
  if (separates_processes_) separate_processes(threads, cgroups, processes, snapshot);
  GroupNumbering numbering(run.groups);
  numbering.apply(threads);
  numbering.apply(processes);
  numbering.apply(cgroups);
  count_rows_and_threads(run, snapshot);
  return run;
}

RowGroups RowGrouper::add(const Snapshot& snapshot, const KeptRows& kept_rows,
                          const KeptRows& kept_opening_rows) {
  std::optional<ProcessTrees> trees, trees_of_opening;
  if (group_by_ == GroupBy::Tree) trees.emplace(snapshot);
  RowGroups run = add_rows(snapshot, snapshot, kept_rows, trees);
  if (!snapshot.window || !snapshot.window->opening_only) return run;
  const Snapshot& opening = *snapshot.window->opening_only;
  if (trees) trees_of_opening.emplace(opening, &*trees);
  run.group_of_opening_row =
      renumber_groups(add_rows(opening, snapshot, kept_opening_rows, trees_of_opening), run);
  if (!separates_processes_ && group_by_ != GroupBy::Entity)
    regroup_exited_threads(run, snapshot, group_by_ == GroupBy::ProcessText);
  return run;
}

std::vector<std::string> RowGrouper::keys() const {
  CgroupParts parts;
  if (cgroups_) return compose_divided_keys(parts);
  return compose_keys([](const KeyPart& part) {
    return std::visit([](const auto& names) { return names.keys(); }, part.names);
  });
}

CgroupParts RowGrouper::cgroup_parts() const {
  CgroupParts parts;
  if (cgroups_) compose_divided_keys(parts);
  return parts;
}

std::vector<std::string> RowGrouper::compose_divided_keys(CgroupParts& parts) const {
  const auto names = std::visit([](const auto& all) { return all.keys(); }, parts_[0].names);
  return cgroups_->make_keys(names, pair_numbers_[0].pairs, parts);
}

std::vector<std::string> RowGrouper::patterns() const {
  return compose_keys([](const KeyPart& part) {
    return std::visit([](const auto& names) { return names.patterns(); }, part.names);
  });
}

std::vector<std::string> RowGrouper::compose_keys(NamesOfPart name) const {
  auto keys = name(parts_[0]);
  for (std::size_t part = 1; part < parts_.size(); ++part) {
    const auto next = name(parts_[part]);
    std::vector<std::string> joined_keys;
    for (const std::uint64_t pair : pair_numbers_[part - 1].pairs)
      joined_keys.push_back(keys[pair >> 32] + kPartSeparator +
                            next[static_cast<std::uint32_t>(pair)]);
    keys = std::move(joined_keys);
  }
  return separates_processes_ ? compose_separate_keys(keys) : keys;
}

std::vector<std::string> RowGrouper::compose_separate_keys(
    const std::vector<std::string>& keys) const {
  const auto names = process_names_.keys();
  std::vector<std::string> found;
  for (const std::uint64_t pair : separate_groups_.pairs) {
    const std::uint64_t leader_group = pair >> 32;
    const std::string& named =
        leader_group > 0 ? names[static_cast<std::uint32_t>(pair)] : keys[pair];
    if (leader_group == 0 || group_by_ != GroupBy::All) {
      found.push_back(named);
      continue;
    }
    const std::string& leader = keys[leader_group - 1];
    const auto first = leader.find(kPartSeparator), last = leader.rfind(kPartSeparator);
    found.push_back(leader.substr(0, first + 1) + named + leader.substr(last));
  }
  return found;
}

}  // namespace ctprof
