// Writes and reads the line `window` of a columns file (header.hpp).

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/file/columns/announced_lines.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/members.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {

// The members of a line of kind `window`.
struct EntityBases {
  std::string entity;
  std::vector<std::string> columns;
};
struct OpeningLines {
  std::string entity;
  std::vector<std::string> columns;
  std::vector<std::uint64_t> rows;  // number of rows of each line
};
struct WindowLine {
  Timestamp opened;
  std::uint64_t living = 0, ended_lost = 0, ended_unseen = 0, ended_merged = 0;
  bool sees_ends = false, partial = false;
  std::vector<std::string> notes;
  std::vector<EntityBases> bases;
  std::optional<std::vector<EntityBases>> newer_bases;
  std::optional<std::vector<OpeningLines>> opening_only;
};

template <SameOrConst<EntityBases> T, class Visitor>
void each_field(T& bases, Visitor&& visit) {
  visit("entity", bases.entity);
  visit("columns", bases.columns);
}

template <SameOrConst<OpeningLines> T, class Visitor>
void each_field(T& lines, Visitor&& visit) {
  visit("entity", lines.entity);
  visit("columns", lines.columns);
  visit("rows", lines.rows);
}

template <SameOrConst<WindowLine> T, class Visitor>
void each_field(T& line, Visitor&& visit) {
  visit("opened", line.opened);
  visit("living", line.living);
  visit("ended_lost", line.ended_lost);
  visit("ended_unseen", line.ended_unseen);
  visit("ended_merged", line.ended_merged);
  visit("sees_ends", line.sees_ends);
  visit("partial", line.partial);
  visit("notes", line.notes);
  visit("bases", line.bases);
  visit("newer_bases", line.newer_bases);
  visit("opening_only", line.opening_only);
}

namespace {

std::vector<OpeningLines> opening_lines(const Snapshot& snapshot,
                                        std::span<const TableSlice> pieces) {
  std::vector<OpeningLines> all;
  for (const Entity entity : kAllEntities) {
    OpeningLines& lines = all.emplace_back(OpeningLines{std::string(name(entity)), {}, {}});
    for (const Column& column : snapshot.window->opening_only->table(entity).columns)
      lines.columns.push_back(column.def().name);
    for (const UnknownMetric& metric :
         snapshot.window->opening_only->extras->unknown_definitions.metrics)
      if (metric.entity == entity) lines.columns.push_back(metric.name);
    for (const TableSlice& piece : pieces)
      if (piece.entity == entity) lines.rows.push_back(piece.rows);
  }
  for (const UnknownRows& unknown : snapshot.extras->unknown_opening_only)
    all.push_back({unknown.entity, unknown.columns, unknown.rows});
  return all;
}

}  // namespace

void write_window(const Snapshot& snapshot, std::span<const TableSlice> opening_only,
                  JsonWriter& out) {
  const Window& window = *snapshot.window;
  WindowLine line{.opened = window.opened_at,
                  .living = window.living_threads,
                  .ended_lost = window.exited_lost,
                  .ended_unseen = window.exited_unknown,
                  .ended_merged = window.exited_merged,
                  .sees_ends = window.reports_exits,
                  .partial = window.is_partial,
                  .notes = window.notes,
                  .bases = {},
                  .newer_bases = {},
                  .opening_only = {}};
  for (const Entity entity : kAllEntities) {
    EntityBases bases{std::string(name(entity)), {}}, newer = bases;
    for (const Column& column : window.openings[static_cast<std::size_t>(entity)].columns)
      (has_newer_newtype(column.def()) ? newer : bases).columns.push_back(column.def().name);
    for (const auto& [metric, cells] :
         snapshot.extras->unknown_base_cells[static_cast<std::size_t>(entity)])
      newer.columns.push_back(metric);
    line.bases.push_back(std::move(bases));
    if (newer.columns.empty()) continue;
    if (!line.newer_bases) line.newer_bases.emplace();
    line.newer_bases->push_back(std::move(newer));
  }
  for (const UnknownRows& unknown : snapshot.extras->unknown_bases)
    line.bases.push_back({unknown.entity, unknown.columns});
  if (window.opening_only) line.opening_only = opening_lines(snapshot, opening_only);
  out.put('{');
  out.member("kind", "window");
  FieldWriter(out).write_members(line, [](std::string_view) { return true; });
  if (!window.host_context.empty()) write_members({{kHostContext, window.host_context}}, out);
  write_members(snapshot.extras->unknown_window, out);
  out.close('}');
  out.put('\n');
}

namespace {

Result<void> read_entity_bases(const EntityBases& bases, Entity entity, Snapshot& snapshot) {
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(entity)];
  KeptKeys& unknown = snapshot.extras->unknown_base_cells[static_cast<std::size_t>(entity)];
  for (const std::string& name : bases.columns) {
    const Column* end = snapshot.table(entity).find(name);
    const bool is_unknown = !end && snapshot.extras->unknown_definitions.find_metric(entity, name);
    if (is_unknown && unknown.try_emplace(name).second) continue;
    if (!end || opening.find(name))
      return Error{"has a base of '" + name.substr(0, 40) +
                   "', which is not a column or is repeated"};
    if (end->def().storage == Storage::Stacks)
      return Error{"has a base of '" + name.substr(0, 40) + "', which cannot have a base"};
    opening.columns.emplace_back(end->def(), 0, Gap::NoBase);
  }
  return {};
}

Error unknown_entity_error(std::string_view entity) {
  return {"lists '" + std::string(entity.substr(0, 40)) + "' twice, or too many unknown entities"};
}

Result<void> read_bases(std::vector<EntityBases>& all, Snapshot& snapshot) {
  std::vector<UnknownRows>& unknown = snapshot.extras->unknown_bases;
  for (EntityBases& bases : all) {
    Entity entity{};
    if (parse(bases.entity, entity)) {
      CTPROF_TRY(read_entity_bases(bases, entity, snapshot));
    } else {
      if (!can_add_entity(unknown, bases.entity)) return unknown_entity_error(bases.entity);
      unknown.push_back({std::move(bases.entity), std::move(bases.columns)});
    }
  }
  return {};
}

// Adds an unknown metric to those of `found`. Returns false if it is not one, or is repeated.
bool keep_opening_column(Entity entity, std::string_view name, const Snapshot& snapshot,
                         Snapshot& found) {
  const UnknownMetric* metric = snapshot.extras->unknown_definitions.find_metric(entity, name);
  UnknownDefinitions& kept = found.extras->unknown_definitions;
  if (!metric || kept.find_metric(entity, name)) return false;
  kept.metrics.push_back(*metric);
  return true;
}

// Adds the columns of one entity to `found`.
Result<void> read_opening_columns(const OpeningLines& lines, Entity entity,
                                  const Snapshot& snapshot, Snapshot& found) {
  Table& table = found.table(entity);
  for (const std::string& name : lines.columns) {
    const Column* end = snapshot.table(entity).find(name);
    if (!end && keep_opening_column(entity, name, snapshot, found)) continue;
    if (!end || table.find(name) || end->def().storage == Storage::Stacks)
      return Error{"announces opening values in column '" + name.substr(0, 40) +
                   "', which is missing from the table, is repeated, or contains stacks"};
    table.add(end->shared_def(), Gap::NotInFile).provenance = end->provenance;
  }
  return {};
}

Error opening_rows_error() { return {"announces a line with no or too many opening rows"}; }

Result<void> announce_opening(const OpeningLines& lines, Entity entity, AnnouncedLines& announced) {
  const std::size_t most = kMaxRowsByEntity[static_cast<std::size_t>(entity)];
  std::size_t first = 0;
  for (const std::uint64_t rows : lines.rows) {
    if (rows == 0 || rows > most - first) return opening_rows_error();
    announced.pieces.push_back({entity, first, rows, false, true});
    first += rows;
  }
  return {};
}

Result<void> announce_unknown_opening(OpeningLines& lines, AnnouncedLines& announced) {
  if (!can_add_entity(announced.unknown, lines.entity)) return unknown_entity_error(lines.entity);
  announced.unknown.push_back({std::move(lines.entity), std::move(lines.columns)});
  std::size_t first = 0;
  for (const std::uint64_t rows : lines.rows) {
    if (rows == 0 || rows > limits::kThreads - first) return opening_rows_error();
    add_unknown_line(rows, first, true, announced);
    first += rows;
  }
  return {};
}

Result<std::vector<TableSlice>> read_opening_only(std::vector<OpeningLines>& all,
                                                  Snapshot& snapshot) {
  Window& window = *snapshot.window;
  window.opening_only = std::make_shared<Snapshot>();
  AnnouncedLines announced;
  std::array<bool, kEntities> seen{};
  for (OpeningLines& lines : all) {
    Entity entity{};
    Result<void> done;
    if (!parse(lines.entity, entity)) {
      done = announce_unknown_opening(lines, announced);
    } else if (std::exchange(seen[static_cast<std::size_t>(entity)], true)) {
      done = Error{"announces opening rows of '" + lines.entity + "' twice"};
    } else {
      done = read_opening_columns(lines, entity, snapshot, *window.opening_only);
      if (done) done = announce_opening(lines, entity, announced);
    }
    if (!done) return done.error();
  }
  snapshot.extras->unknown_opening_only = std::move(announced.unknown);
  return std::move(announced.pieces);
}

}  // namespace

Result<std::vector<TableSlice>> read_window(const KeptMembers& members, Snapshot& snapshot) {
  WindowLine line;
  const RawJson text = to_object(members);
  Scanner in(text);
  FieldReader reader(in, "window");
  reader.read_object(line);
  if (const std::string wrong = reader.error_text(); !wrong.empty())
    return Error{"is wrong: " + wrong};
  snapshot.extras->unknown_window = unknown_members<WindowLine>(members);
  snapshot.extras->unknown_window.erase("kind");
  Window& window = snapshot.window.emplace();
  if (auto host = snapshot.extras->unknown_window.extract(kHostContext))
    window.host_context = host.mapped();
  window.opened_at = line.opened;
  window.living_threads = line.living;
  window.exited_lost = line.ended_lost;
  window.exited_unknown = line.ended_unseen;
  window.exited_merged = line.ended_merged;
  window.reports_exits = line.sees_ends;
  window.is_partial = line.partial;
  window.notes = std::move(line.notes);
  CTPROF_TRY(read_bases(line.bases, snapshot));
  if (line.newer_bases) CTPROF_TRY(read_bases(*line.newer_bases, snapshot));
  if (!line.opening_only) return std::vector<TableSlice>();
  return read_opening_only(*line.opening_only, snapshot);
}

}  // namespace ctprof::columns
