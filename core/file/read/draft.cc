#include "core/file/read/draft.hpp"

#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

// Columns that have no place of their own in the file, but come out of other keys.
bool is_rebuilt(const MetricDef& def) {
  return def.name == kProcessTgid || def.name == kProcessPcomm || def.name == kCgroupPath;
}

constexpr std::array<std::size_t, kRoots> kMostRows{limits::kThreads, limits::kCgroups, 1};

}  // namespace

void Draft::prepare(RegistryPart registry) {
  has_own_registry = true;
  for (const auto& [def, provenance] : registry.metrics) make_column(def, provenance);
  snapshot.derived = std::move(registry.derived);
  snapshot.unknown_definitions = std::move(registry.unknown);
  for (const std::string& place : registry.placeholders) layout.add(parse_place(place));
  make_fillers();
}

void Draft::prepare(const Vocabulary& vocabulary) {
  for (const MetricDef& def : vocabulary.metrics) {
    if (def.is_mark) place(def, marks.emplace_back(def, 0, Gap::NotInFile));
    if (!def.is_mark && (is_rebuilt(def) || place_of(def).root != Root::None)) make_column(def, {});
  }
  make_fillers();
}

void Draft::make_column(const MetricDef& def, const Provenance& provenance) {
  Column& column = snapshot.table(def.entity).add(def, Gap::NotInFile);
  column.provenance = provenance;
  if (def.entity == Entity::Process)
    place(def, process_columns.emplace_back(def, 0, Gap::NotInFile));
  else
    place(def, column);
}

void Draft::place(const MetricDef& def, Column& column) {
  const Place found = place_of(def);
  const std::size_t leaf = layout.add(found);
  if (leaf != KeyNode::kNone) placed_.push_back({&column, found.root, leaf});
}

// Columns that other tables' rows hang on are there whatever the definitions say.
void Draft::make_keys() {
  for (const std::string_view name : {kProcessTgid, kCgroupPath}) {
    const MetricDef& def = identity_metric(name);
    if (!snapshot.table(def.entity).find(name)) make_column(def, {});
  }
}

// Once all leaves are known: second spellings, which take no other metric's place, and a slot for
// every leaf.
void Draft::make_fillers() {
  make_keys();
  for (const Placed& placed : placed_)
    for (const Place& alias : aliases_of(placed.column->def()))
      layout.add_alias(alias, placed.leaf);
  for (const Root root : {Root::Thread, Root::Cgroup, Root::Host})
    filler(root) = RowFiller(layout.leaves(root) + 1, kMostRows[static_cast<std::size_t>(root)],
                             *snapshot.pools, texts_, budget);
  filler(Root::Thread).expect(snapshot.meta.rows_listed);
  for (const Placed& placed : placed_) filler(placed.root).add(placed.leaf, *placed.column);
  if (Column* paths = snapshot.table(Entity::Cgroup).find(kCgroupPath))
    filler(Root::Cgroup).add(layout.leaves(Root::Cgroup), *paths);
  prepared_ = true;
}

}  // namespace ctprof
