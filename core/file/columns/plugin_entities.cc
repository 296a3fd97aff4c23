#include "core/file/columns/plugin_entities.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file/columns/table_line.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

constexpr std::size_t kRowsPerTable = 1024;
// Nesting depth of the members: the entities, and the members of each.
constexpr std::size_t kDepthOfEntities = 1;
constexpr std::size_t kMaxRows = CTPROF_MAX_ENTITY_ROWS;

std::vector<Entity> all_plugin_entities() {
  std::vector<Entity> all;
  for (std::size_t number = kBuiltinEntities; number < kEntities; ++number)
    all.push_back(static_cast<Entity>(number));
  return all;
}

Opening& opening_of(Window& window, Entity entity) {
  return window.openings[static_cast<std::size_t>(entity)];
}

// Returns the beginning of a line of the table, which the file leaves out, so that a search for
// lines of tables does not find the summary.
std::string line_prefix(bool is_opening_only) {
  TableSlice slice;
  slice.is_opening_only = is_opening_only;
  return "{\"kind\":\"" + std::string(slice.kind()) + "\",";
}

// --- writing ---

void write_names(std::string_view key, const std::deque<Column>& columns, JsonWriter& out) {
  out.key(key);
  out.put('[');
  for (const Column& column : columns)
    if (!column.def().is_hidden) out.text(column.def().name), out.put(',');
  out.close(']');
  out.put(',');
}

void write_tables(const Snapshot& snapshot, Entity entity, bool is_opening_only, JsonWriter& out) {
  const TableWriter writer(snapshot);
  const std::size_t rows = snapshot.table(entity).rows;
  const std::size_t prefix_bytes = line_prefix(is_opening_only).size();
  JsonWriter line;
  out.key("tables");
  out.put('[');
  for (std::size_t first = 0; first < rows; first += kRowsPerTable) {
    TableSlice slice{entity, first, std::min(kRowsPerTable, rows - first)};
    slice.is_opening_only = is_opening_only;
    line.clear();
    writer.write(slice, line);
    const std::string_view text = line.view().substr(prefix_bytes);
    out.put('{');
    out.raw(text.substr(0, text.find_last_not_of('\n') + 1));
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void write_definitions(const Snapshot& snapshot, Entity entity, JsonWriter& out) {
  std::vector<DerivedDef> derived = snapshot.derived;
  std::erase_if(derived, [&](const DerivedDef& def) { return def.entity != entity; });
  const UnknownDefinitions nothing_unknown;
  RegistryView view{{}, derived, {}, nothing_unknown, {}};
  for (const Column& column : snapshot.table(entity).columns)
    if (!column.def().is_hidden) view.metrics.push_back({&column.def(), &column.provenance});
  out.key("registry");
  write_registry(view, out);
  out.put(',');
}

void write_entity(const Snapshot& snapshot, Entity entity, JsonWriter& out) {
  out.key(name(entity));
  out.put('{');
  write_definitions(snapshot, entity, out);
  write_tables(snapshot, entity, false, out);
  if (const auto& window = snapshot.window) {
    write_names("bases", window->openings[static_cast<std::size_t>(entity)].columns, out);
    if (window->opening_only) {
      out.raw("\"opening\":{");
      write_names("columns", window->opening_only->table(entity).columns, out);
      write_tables(*window->opening_only, entity, true, out);
      out.close('}');
    }
  }
  out.close('}');
  out.put(',');
}

}  // namespace

void write_plugin_entities(const Snapshot& snapshot, JsonWriter& out) {
  const auto kept = snapshot.objects.find(std::string(kPluginEntitiesKey));
  const std::size_t start = out.size();
  out.key(kPluginEntitiesKey);
  out.put('{');
  const std::size_t empty_size = out.size();
  for (const Entity entity : all_plugin_entities())
    if (!snapshot.table(entity).columns.empty()) write_entity(snapshot, entity, out);
  if (kept != snapshot.objects.end())
    if (const auto members = parse_members(kept->second, kDepthOfEntities))
      write_members(*members, out);
  if (out.size() == empty_size) return out.truncate(start);
  out.close('}');
  out.put(',');
}

namespace {

// --- reading ---

// The part of a snapshot that belongs to one entity, while it is read. It has the pools of the
// snapshot, and is discarded if it cannot be read.
class EntityPart {
 public:
  explicit EntityPart(Snapshot& snapshot) : snapshot_(&snapshot) {
    part.meta = snapshot.meta;
    part.pools.swap(snapshot.pools);
    if (snapshot.window) part.window.emplace();
  }
  ~EntityPart() { part.pools.swap(snapshot_->pools); }
  EntityPart(const EntityPart&) = delete;
  EntityPart& operator=(const EntityPart&) = delete;

  // Moves the rows into the snapshot.
  void accept(Entity entity) {
    snapshot_->table(entity) = std::move(part.table(entity));
    std::ranges::move(part.derived, std::back_inserter(snapshot_->derived));
    if (snapshot_->window)
      opening_of(*snapshot_->window, entity) = std::move(opening_of(*part.window, entity));
  }

  Snapshot part;

 private:
  Snapshot* snapshot_;
};

// Parses a registry, whose definitions are of this entity.
Result<RegistryPart> read_definitions(const std::string& text, Entity entity) {
  auto registry = read_registry(text, FieldReader::EntityWords::Skip);
  if (!registry) return registry.error();
  const UnknownDefinitions& unknown = registry->unknown;
  if (!unknown.members.empty() || !unknown.metrics.empty() || !unknown.derived.empty() ||
      !unknown.metric_members.empty() || !unknown.derived_members.empty())
    return Error{"registry has parts that this version does not know"};
  for (RegistryPart::Metric& metric : registry->metrics) metric.def.entity = entity;
  for (DerivedDef& derived : registry->derived) derived.entity = entity;
  return registry;
}

Result<std::vector<std::string>> read_names(const KeptMembers& members, const std::string& key) {
  std::vector<std::string> names;
  const auto found = members.find(key);
  if (found == members.end()) return names;
  Scanner in(found->second);
  FieldReader reader(in, key);
  reader.read_value(names);
  if (std::string wrong = reader.error_text(); !wrong.empty()) return Error{std::move(wrong)};
  return names;
}

std::vector<std::string> lines_of(const KeptMembers& members, bool is_opening_only) {
  std::vector<std::string> lines;
  if (const auto found = members.find("tables"); found != members.end())
    for (const std::string_view line : split_array(found->second))
      lines.push_back(line.starts_with('{')
                          ? line_prefix(is_opening_only) + std::string(line.substr(1))
                          : std::string(line));
  return lines;
}

std::size_t count_items(Scanner& in) {
  std::size_t items = 0;
  if (in.peek() != '[') return in.discard(limits::kDepth), items;
  for (in.enter('['); in.next(']'); ++items) in.discard(limits::kDepth);
  return items;
}

// Returns the number of rows of a line: the length of its longest column.
std::size_t count_rows(const std::string& line) {
  const std::string_view columns = find_members(line, "columns", "kind")[0];
  if (!columns.starts_with('{')) return 0;
  std::size_t rows = 0;
  Scanner in(columns);
  for (in.enter('{'); in.next('}');) {
    in.key();
    rows = std::max(rows, count_items(in));
  }
  return rows;
}

// Reads the lines of a table into `part`, whose columns exist.
Result<void> read_tables(const std::vector<std::string>& lines, Entity entity, bool is_opening_only,
                         Snapshot& part) {
  TableReader::RowsByEntity rows{};
  std::size_t& all_rows = rows[static_cast<std::size_t>(entity)];
  std::vector<TableSlice> slices;
  std::size_t text_bytes = 0;
  for (const std::string& line : lines) {
    TableSlice slice{entity, all_rows, count_rows(line)};
    slice.is_opening_only = is_opening_only;
    if (slice.rows == 0 || slice.rows > kMaxRows - all_rows) return Error{"too few or many rows"};
    all_rows += slice.rows;
    text_bytes += line.size();
    slices.push_back(slice);
  }
  if (auto done = TableReader::prepare(part, rows, text_bytes); !done) return done;
  TableReader tables(part, text_bytes);
  TableReader::Worker worker(part, tables);
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (auto done = tables.read(lines[i], slices[i], worker); !done) return done;
  return {};
}

// Adds the columns with values at the opening of the window.
Result<void> add_bases(const KeptMembers& members, Entity entity, Snapshot& part) {
  const auto names = read_names(members, "bases");
  if (!names) return names.error();
  Opening& opening = opening_of(*part.window, entity);
  for (const std::string& name : *names) {
    const Column* end = part.table(entity).find(name);
    if (!end || opening.find(name) || end->def().storage == Storage::Stacks)
      return Error{"wrong base '" + name.substr(0, 40) + "'"};
    opening.columns.emplace_back(end->def(), 0, Gap::NoBase);
  }
  return {};
}

// Reads the rows that only the opening of the window has.
Result<void> read_opening_only(const KeptMembers& members, const Snapshot& part, Entity entity,
                               Snapshot& opening_only) {
  const auto names = read_names(members, "columns");
  if (!names) return names.error();
  EntityPart opening(opening_only);
  for (const std::string& name : *names) {
    const Column* end = part.table(entity).find(name);
    if (!end || opening.part.table(entity).find(name) || end->def().storage == Storage::Stacks)
      return Error{"wrong column '" + name.substr(0, 40) + "' at the opening"};
    opening.part.table(entity).add(end->shared_def(), Gap::NotInFile).provenance = end->provenance;
  }
  if (auto done = read_tables(lines_of(members, true), entity, true, opening.part); !done)
    return done;
  opening.accept(entity);
  return {};
}

Result<void> read_entity(const KeptMembers& members, Entity entity, bool with_rows,
                         Snapshot& snapshot) {
  EntityPart found(snapshot);
  Snapshot& part = found.part;
  const auto text = members.find("registry");
  if (text == members.end()) return Error{"no registry"};
  auto registry = read_definitions(text->second, entity);
  if (!registry) return registry.error();
  LabelTaker labels(snapshot.extras->unknown_definitions.members);
  for (auto& [def, provenance] : registry->metrics) {
    labels.take(def);
    part.table(entity).add(std::move(def), Gap::NotInFile).provenance = std::move(provenance);
  }
  part.derived = std::move(registry->derived);
  if (part.window)
    if (auto done = add_bases(members, entity, part); !done) return done;
  if (with_rows)
    if (auto done = read_tables(lines_of(members, false), entity, false, part); !done) return done;
  const auto opening = members.find("opening");
  if (with_rows && part.window && opening != members.end() && snapshot.window->opening_only) {
    const auto opening_members = parse_members(opening->second, kDepthOfEntities);
    if (!opening_members) return opening_members.error();
    if (auto done =
            read_opening_only(*opening_members, part, entity, *snapshot.window->opening_only);
        !done)
      return done;
  }
  labels.commit();
  found.accept(entity);
  return {};
}

// Returns whether the snapshot now has the rows of the entity.
bool read_if_known(const std::string& word, const RawJson& text, bool with_rows,
                   Snapshot& snapshot) {
  const auto members = parse_members(text, kDepthOfEntities);
  if (!members) return false;
  for (const auto& [key, value] : *members)
    if (key != "registry" && key != "tables" && key != "bases" && key != "opening") return false;
  const auto entity = find_or_add_plugin_entity(word);
  return entity && snapshot.table(*entity).columns.empty() &&
         read_entity(*members, *entity, with_rows, snapshot).has_value();
}

}  // namespace

void read_plugin_entities(Snapshot& snapshot, bool with_rows) {
  const auto object = snapshot.objects.find(std::string(kPluginEntitiesKey));
  if (object == snapshot.objects.end()) return;
  auto entities = parse_members(object->second, kDepthOfEntities);
  if (!entities) return;
  std::erase_if(*entities, [&](const auto& entity) {
    return read_if_known(entity.first, entity.second, with_rows, snapshot);
  });
  snapshot.extras->header_objects.erase(object->first);
  if (entities->empty())
    snapshot.objects.erase(object);
  else
    object->second = to_object(*entities);
}

}  // namespace ctprof::columns
