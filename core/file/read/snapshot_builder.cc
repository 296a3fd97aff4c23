#include "core/file/read/snapshot_builder.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_scanner.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/file/columns/plugin_entities.hpp"
#include "core/file/layout/sections.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof {
namespace {

// Returns whether a column is not in the file itself, but derived from other keys.
bool is_derived_column(const MetricDef& def) {
  return def.name == kProcessTgid || def.name == kProcessPcomm || def.name == kCgroupPath;
}

constexpr std::array<std::size_t, kRoots> kMaxRowsByRoot{limits::kThreads, limits::kCgroups, 1};
constexpr std::size_t kShownBytes = 64;  // of a name or path in a message

// Returns whether a row cannot hold both: the paths are equal, or one leads through the other.
bool do_overlap(const KeyPath& one, const KeyPath& other) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(one.keys.size(), other.keys.size()));
  return one.root == other.root &&
         std::equal(one.keys.begin(), one.keys.begin() + shorter, other.keys.begin());
}

std::string describe_path(const MetricDef& def) {
  return "'" + def.file_path.substr(0, kShownBytes) + "'";
}

}  // namespace

Result<void> check_key_paths(const RegistryPart& registry) {
  Layout layout;
  for (const RegistryPart::Metric& metric : registry.metrics) {
    const KeyPath path = key_path_of(metric.def);
    if (path.root == TreeRoot::None || layout.add(path) != KeyNode::kNone) continue;
    const auto other = std::ranges::find_if(registry.metrics, [&](const auto& earlier) {
      return do_overlap(key_path_of(earlier.def), path);
    });
    return Error{"registry.metrics has an invalid entry, '" +
                 metric.def.name.substr(0, kShownBytes) + "': its file_path " +
                 describe_path(metric.def) + " overlaps that of '" +
                 other->def.name.substr(0, kShownBytes) + "', " + describe_path(other->def)};
  }
  return {};
}

void SnapshotBuilder::prepare(RegistryPart registry) {
  has_own_registry = true;
  for (const auto& [def, provenance] : registry.metrics) make_column(def, provenance);
  snapshot.derived = std::move(registry.derived);
  snapshot.extras->unknown_definitions = std::move(registry.unknown);
  for (const std::string& place : registry.placeholders) layout.add(parse_key_path(place));
  make_fillers();
}

void SnapshotBuilder::prepare(const Vocabulary& vocabulary) {
  for (const MetricDef& def : vocabulary.metrics) {
    if (def.is_mark) add_leaf(def, marks.emplace_back(def, 0, Gap::NotInFile));
    if (!def.is_mark && (is_derived_column(def) || key_path_of(def).root != TreeRoot::None))
      make_column(def, {});
  }
  make_fillers();
}

void SnapshotBuilder::make_column(const MetricDef& def, const Provenance& provenance) {
  Column& column = snapshot.table(def.entity).add(def, Gap::NotInFile);
  column.provenance = provenance;
  if (def.entity == Entity::Process)
    add_leaf(def, process_columns.emplace_back(def, 0, Gap::NotInFile));
  else
    add_leaf(def, column);
}

void SnapshotBuilder::add_leaf(const MetricDef& def, Column& column) {
  const KeyPath found = key_path_of(def);
  const std::size_t leaf = layout.add(found);
  if (leaf != KeyNode::kNone) column_leaves_.push_back({&column, found.root, leaf});
}

// Adds the identity columns that other tables refer to, if the definitions lack them.
void SnapshotBuilder::make_identity_columns() {
  for (const std::string_view name : {kProcessTgid, kCgroupPath}) {
    const MetricDef& def = identity_metric(name);
    if (!snapshot.table(def.entity).find(name)) make_column(def, {});
  }
}

// Creates a slot for every leaf, after all leaves are known. Adds alternative spellings first. A
// spelling that is the key path of another metric is not added.
void SnapshotBuilder::make_fillers() {
  make_identity_columns();
  for (const ColumnLeaf& placed : column_leaves_)
    for (const KeyPath& alias : aliases_of(placed.column->def()))
      layout.add_alias(alias, placed.leaf);
  for (const TreeRoot root : {TreeRoot::Thread, TreeRoot::Cgroup, TreeRoot::Host})
    filler(root) =
        RowFiller(layout.leaf_count(root) + 1, kMaxRowsByRoot[static_cast<std::size_t>(root)],
                  *snapshot.pools, texts_, budget);
  filler(TreeRoot::Thread).set_expected_rows(snapshot.meta.rows_listed);
  for (const ColumnLeaf& placed : column_leaves_)
    filler(placed.root).add_column(placed.leaf, *placed.column);
  if (Column* paths = snapshot.table(Entity::Cgroup).find(kCgroupPath))
    filler(TreeRoot::Cgroup).add_column(layout.leaf_count(TreeRoot::Cgroup), *paths);
  prepared_ = true;
}

namespace {

constexpr auto kGapNotInFile = static_cast<ctprof_gap>(Gap::NotInFile);

// --- gaps of files without our own keys ---

// Returns whether a cell has the layout's representation of a missing value, if that cannot be a
// reading: an empty text, set or map, but not a number.
class AbsenceCheck {
 public:
  AbsenceCheck(const Column& column, const Pools& pools) : column_(&column), pools_(&pools) {
    text_ = parse_json_string(column.def().file_absent).value_or("");
  }
  bool operator()(std::size_t row) const {
    const Id id = column_->ids()[row];
    switch (column_->def().storage) {
      case Storage::String: return pools_->texts[id] == text_;
      case Storage::Map: return pools_->maps[id].empty();
      default: return pools_->words[id].empty();
    }
  }

 private:
  const Column* column_;
  const Pools* pools_;
  std::string text_;
};

void mark_absent_cells(Column& column, const Pools& pools) {
  if (!is_pooled(column.def().storage)) return;
  const AbsenceCheck is_absent(column, pools);
  for (std::size_t row = 0; row < column.rows(); ++row)
    if (column.has_value(row) && is_absent(row)) column.gaps()[row] = kGapNotInFile;
}

// Sets gaps in the metrics of a mark that is false, or whose parent mark is false. A missing mark
// has no effect.
void apply_marks(const std::deque<Column>& marks, Table& threads) {
  std::unordered_map<std::string_view, const Column*, SeededHash> by_name;
  for (const Column& mark : marks) by_name.emplace(mark.def().name, &mark);
  for (Column& column : threads.columns) {
    std::string_view name = column.def().mark;
    for (std::size_t step = 0; by_name.contains(name) && step < marks.size(); ++step) {
      const Column& mark = *by_name.at(name);
      for (std::size_t row = 0; row < threads.rows; ++row)
        if (mark.has_value(row) && !mark.bools()[row]) column.gaps()[row] = kGapNotInFile;
      name = mark.def().mark;
    }
  }
}

void infer_gaps(SnapshotBuilder& builder) {
  for (const Entity entity : {Entity::Thread, Entity::Cgroup, Entity::Host})
    for (Column& column : builder.snapshot.table(entity).columns)
      mark_absent_cells(column, *builder.snapshot.pools);
  for (Column& column : builder.process_columns) mark_absent_cells(column, *builder.snapshot.pools);
  apply_marks(builder.marks, builder.snapshot.threads());
}

// --- order ---

// Returns the row numbers in the order of `before`; empty if the rows are already sorted.
template <class Before>
std::vector<std::uint32_t> sorted_order(std::size_t rows, Before before) {
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

void reorder(Table& table, KeptKeys& kept, std::span<const std::uint32_t> order) {
  std::vector<std::byte> scratch;
  for (const std::vector<RowRange> runs = find_row_ranges(order); Column & column : table.columns)
    column.reorder_rows(runs, scratch);
  std::vector<std::uint32_t> new_row(order.size());
  for (std::uint32_t row = 0; row < order.size(); ++row) new_row[order[row]] = row;
  for (auto& [path, pieces] : kept) {
    for (auto& piece : pieces) piece.first = new_row[piece.first];
    std::sort(pieces.begin(), pieces.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
}

// Returns the values of an identity column. A table without that column has no rows
// (check_identity).
std::span<const std::uint64_t> ids_of(const Table& threads, std::string_view name) {
  const Column* column = threads.find(name);
  return column ? column->u64() : std::span<const std::uint64_t>();
}

void sort_threads(SnapshotBuilder& builder) {
  Snapshot& snapshot = builder.snapshot;
  const auto tgid = ids_of(snapshot.threads(), kTgid), tid = ids_of(snapshot.threads(), kTid);
  const auto order = sorted_order(snapshot.threads().rows, [&](std::uint32_t a, std::uint32_t b) {
    return tgid[a] != tgid[b] ? tgid[a] < tgid[b] : tid[a] < tid[b];
  });
  if (order.empty()) return;
  reorder(snapshot.threads(),
          snapshot.extras->unknown_keys[static_cast<std::size_t>(Entity::Thread)], order);
  std::vector<std::byte> scratch;
  for (const std::vector<RowRange> runs = find_row_ranges(order);
       Column & column : builder.process_columns)
    column.reorder_rows(runs, scratch);
  if (snapshot.read_at.empty()) return;
  std::vector<std::uint64_t> read_at;
  for (const std::uint32_t row : order) read_at.push_back(snapshot.read_at[row]);
  snapshot.read_at = std::move(read_at);
}

void sort_cgroups(Snapshot& snapshot) {
  Table& cgroups = snapshot.table(Entity::Cgroup);
  const Column* paths = cgroups.find(kCgroupPath);
  if (!paths) return;
  const TextPool& texts = snapshot.pools->texts;
  const auto ids = paths->ids();
  const auto order = sorted_order(cgroups.rows, [&](std::uint32_t a, std::uint32_t b) {
    return texts[ids[a]] < texts[ids[b]];
  });
  if (!order.empty())
    reorder(cgroups, snapshot.extras->unknown_keys[static_cast<std::size_t>(Entity::Cgroup)],
            order);
}

// --- processes ---

// Returns for each process the row that has its metrics: the leader's, or its first row if the
// leader was not listed.
std::vector<std::uint32_t> leader_rows(const Table& threads) {
  const auto tgid = ids_of(threads, kTgid), tid = ids_of(threads, kTid);
  std::vector<std::uint32_t> rows;
  bool has_leader = false;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    const bool is_new = row == 0 || tgid[row] != tgid[row - 1];
    const bool is_leader = tid[row] == tgid[row];
    if (is_new) rows.push_back(row);
    if (is_leader && (is_new || !has_leader)) rows.back() = row;
    has_leader = is_leader || (has_leader && !is_new);
  }
  return rows;
}

void rebuild_processes(SnapshotBuilder& builder) {
  const Table& threads = builder.snapshot.threads();
  Table& processes = builder.snapshot.table(Entity::Process);
  const std::vector<std::uint32_t> rows = leader_rows(threads);
  const std::vector<RowRange> runs = find_row_ranges(rows);
  processes.rows = rows.size();
  auto gathered = builder.process_columns.begin();
  for (Column& column : processes.columns) {
    const Column& process_column = *gathered++;
    const Column* from = column.def().name == kProcessTgid    ? threads.find(kTgid)
                         : column.def().name == kProcessPcomm ? threads.find(kPcomm)
                                                              : &process_column;
    column.resize(rows.size(), Gap::NotInFile);
    if (from && from->rows() > 0) column.assign_rows(*from, runs);
  }
}

// --- finishing the snapshot ---

// Gives all columns their final length: those whose capacity exceeds the number of rows, and those
// that are not in the file and have no rows yet.
void resize_columns_to_rows(SnapshotBuilder& builder) {
  constexpr std::array kTables{std::pair{TreeRoot::Thread, Entity::Thread},
                               std::pair{TreeRoot::Cgroup, Entity::Cgroup},
                               std::pair{TreeRoot::Host, Entity::Host}};
  for (const auto& [root, entity] : kTables) {
    builder.filler(root).finish();
    Table& table = builder.snapshot.table(entity);
    table.rows = builder.filler(root).rows();
    for (Column& column : table.columns) column.resize(table.rows, Gap::NotInFile);
  }
  for (Column& column : builder.process_columns)
    column.resize(builder.snapshot.threads().rows, Gap::NotInFile);
}

Result<void> check_identity(const Table& threads) {
  if (threads.rows == 0) return {};
  for (const std::string_view name : {kTgid, kTid}) {
    const Column* column = threads.find(name);
    if (!column)
      return Error{"has no definition of '" + std::string(name) +
                   "', without which threads cannot be distinguished"};
    const auto missing = std::find_if(column->gaps().begin(), column->gaps().end(),
                                      [](ctprof_gap gap) { return gap != CTPROF_VALUE; });
    if (missing == column->gaps().end()) continue;
    return Error{"threads[" + std::to_string(missing - column->gaps().begin()) + "] has no " +
                 std::string(name)};
  }
  return {};
}

// Reads the sections about whole files, and splits those about tables by table.
Result<std::vector<SplitSection>> read_sections(SnapshotBuilder& builder) {
  std::vector<SplitSection> split;
  for (const FileSection& section : file_sections()) {
    const auto found = builder.sections.find(section.key);
    if (found == builder.sections.end() || found->second == "null") continue;
    if (section.read_after_rows) CTPROF_TRY(section.read_after_rows(found->second, builder));
    if (!section.read_for_table) continue;
    CTPROF_TRY_VALUE(auto parts, split_section(section, found->second, builder));
    split.push_back(std::move(parts));
  }
  return split;
}

}  // namespace

Result<Snapshot> finish_snapshot(SnapshotBuilder& builder) {
  Snapshot& snapshot = builder.snapshot;
  snapshot.is_foreign = !builder.has_meta;
  resize_columns_to_rows(builder);
  CTPROF_TRY(check_identity(snapshot.threads()));
  CTPROF_TRY_VALUE(const auto sections, read_sections(builder));

  WorkBudget work(builder.budget.text_bytes);
  const auto explain = [&](Entity entity) -> Result<void> {
    for (const SplitSection& section : sections)
      if (const std::string_view part = section.part_of(entity); !part.empty())
        CTPROF_TRY(section.section->read_for_table(part, entity, builder, work));
    return {};
  };
  if (snapshot.is_foreign) infer_gaps(builder);
  for (const Entity entity : {Entity::Thread, Entity::Cgroup, Entity::Host})
    CTPROF_TRY(explain(entity));
  sort_threads(builder);
  sort_cgroups(snapshot);
  rebuild_processes(builder);
  CTPROF_TRY(explain(Entity::Process));
  columns::read_plugin_entities(snapshot, true);
  return std::move(snapshot);
}

}  // namespace ctprof
