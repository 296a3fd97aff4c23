// Writes and reads the line `window` of a file in columns (header.hpp).

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/file/columns/announced.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/members.hpp"

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
  Moment opened;
  std::uint64_t living = 0, ended_lost = 0, ended_unseen = 0, ended_merged = 0;
  bool sees_ends = false, partial = false;
  std::vector<std::string> notes;
  std::vector<EntityBases> bases;
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
  visit("opening_only", line.opening_only);
}

namespace {

std::vector<OpeningLines> opening_lines(const Window& window, std::span<const Piece> pieces) {
  std::vector<OpeningLines> all;
  for (const Entity entity : kAllEntities) {
    OpeningLines& lines = all.emplace_back(OpeningLines{std::string(name(entity)), {}, {}});
    for (const Column& column : window.opening_only->table(entity).columns)
      lines.columns.push_back(column.def().name);
    for (const Piece& piece : pieces)
      if (piece.entity == entity) lines.rows.push_back(piece.rows);
  }
  for (const UnknownRows& unknown : window.unknown_opening_only)
    all.push_back({unknown.entity, unknown.columns, unknown.rows});
  return all;
}

}  // namespace

void write_window(const Snapshot& snapshot, std::span<const Piece> opening_only, JsonWriter& out) {
  const Window& window = *snapshot.window;
  WindowLine line{.opened = window.opened,
                  .living = window.living,
                  .ended_lost = window.ended_lost,
                  .ended_unseen = window.ended_unseen,
                  .ended_merged = window.ended_merged,
                  .sees_ends = window.sees_ends,
                  .partial = window.partial,
                  .notes = window.notes,
                  .bases = {},
                  .opening_only = {}};
  for (const Entity entity : kAllEntities) {
    EntityBases& bases = line.bases.emplace_back(EntityBases{std::string(name(entity)), {}});
    for (const Column& column : window.openings[static_cast<std::size_t>(entity)].columns)
      bases.columns.push_back(column.def().name);
  }
  for (const UnknownRows& unknown : window.unknown_bases)
    line.bases.push_back({unknown.entity, unknown.columns});
  if (window.opening_only) line.opening_only = opening_lines(window, opening_only);
  out.put('{');
  out.member("kind", "window");
  FieldWriter(out).members(line, [](std::string_view) { return true; });
  if (!window.host.empty()) write_members({{kHostContext, window.host}}, out);
  write_members(snapshot.unknown_window, out);
  out.close('}');
  out.put('\n');
}

namespace {

Result<void> read_bases_of(const EntityBases& bases, Entity entity, Snapshot& snapshot) {
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(entity)];
  for (const std::string& name : bases.columns) {
    const Column* end = snapshot.table(entity).find(name);
    if (!end || opening.find(name))
      return Error{"has a base of '" + name.substr(0, 40) +
                   "', which is not a column or is repeated"};
    if (end->def().storage == Storage::Stacks)
      return Error{"has a base of '" + name.substr(0, 40) + "', which cannot have any"};
    opening.columns.emplace_back(end->def(), 0, Gap::NoBase);
  }
  return {};
}

Error too_many_unknown(std::string_view entity) {
  return {"has '" + std::string(entity.substr(0, 40)) +
          "' twice, or columns of too many unknown entities"};
}

Result<void> read_bases(std::vector<EntityBases>& all, Snapshot& snapshot) {
  std::vector<UnknownRows>& unknown = snapshot.window->unknown_bases;
  for (EntityBases& bases : all) {
    Entity entity{};
    if (parse(bases.entity, entity)) {
      if (auto done = read_bases_of(bases, entity, snapshot); !done) return done;
    } else {
      if (!may_have_one_more(unknown, bases.entity)) return too_many_unknown(bases.entity);
      unknown.push_back({std::move(bases.entity), std::move(bases.columns)});
    }
  }
  return {};
}

// Adds the columns of one entity to `found`.
Result<void> read_opening_columns(const OpeningLines& lines, Entity entity,
                                  const Snapshot& snapshot, Snapshot& found) {
  Table& table = found.table(entity);
  for (const std::string& name : lines.columns) {
    const Column* end = snapshot.table(entity).find(name);
    if (!end || table.find(name) || end->def().storage == Storage::Stacks)
      return Error{"has rows of the opening with '" + name.substr(0, 40) +
                   "', which is not a column, is repeated, or has stacks"};
    table.add(end->shared_def(), Gap::NotInFile).provenance = end->provenance;
  }
  return {};
}

Error too_many_opening_rows() {
  return {"announces no rows or too many rows of the opening in one line"};
}

Result<void> announce_opening(const OpeningLines& lines, Entity entity, Announced& announced) {
  const std::size_t most = kMostRows[static_cast<std::size_t>(entity)];
  std::size_t first = 0;
  for (const std::uint64_t rows : lines.rows) {
    if (rows == 0 || rows > most - first) return too_many_opening_rows();
    announced.pieces.push_back({entity, first, rows, false, true});
    first += rows;
  }
  return {};
}

Result<void> announce_unknown_opening(OpeningLines& lines, Announced& announced) {
  if (!may_have_one_more(announced.unknown, lines.entity)) return too_many_unknown(lines.entity);
  announced.unknown.push_back({std::move(lines.entity), std::move(lines.columns)});
  std::size_t first = 0;
  for (const std::uint64_t rows : lines.rows) {
    if (rows == 0 || rows > limits::kThreads - first) return too_many_opening_rows();
    add_line(rows, first, true, announced);
    first += rows;
  }
  return {};
}

Result<std::vector<Piece>> read_opening_only(std::vector<OpeningLines>& all, Snapshot& snapshot) {
  Window& window = *snapshot.window;
  window.opening_only = std::make_shared<Snapshot>();
  Announced announced;
  std::array<bool, kEntities> seen{};
  for (OpeningLines& lines : all) {
    Entity entity{};
    Result<void> done;
    if (!parse(lines.entity, entity)) {
      done = announce_unknown_opening(lines, announced);
    } else if (std::exchange(seen[static_cast<std::size_t>(entity)], true)) {
      done = Error{"announces rows of the opening of '" + lines.entity + "' twice"};
    } else {
      done = read_opening_columns(lines, entity, snapshot, *window.opening_only);
      if (done) done = announce_opening(lines, entity, announced);
    }
    if (!done) return done.error();
  }
  window.unknown_opening_only = std::move(announced.unknown);
  return std::move(announced.pieces);
}

}  // namespace

Result<std::vector<Piece>> read_window(const KeptMembers& members, Snapshot& snapshot) {
  boost::system::error_code failed;
  WindowLine line;
  FieldReader reader("window");
  reader.object(boost::json::parse(object_of(members), failed), line);
  if (failed || !reader.complaint().empty()) return Error{"is wrong: " + reader.complaint()};
  snapshot.unknown_window = unknown_to<WindowLine>(members);
  snapshot.unknown_window.erase("kind");
  Window& window = snapshot.window.emplace();
  if (auto host = snapshot.unknown_window.extract(kHostContext)) window.host = host.mapped();
  window.opened = line.opened;
  window.living = line.living;
  window.ended_lost = line.ended_lost;
  window.ended_unseen = line.ended_unseen;
  window.ended_merged = line.ended_merged;
  window.sees_ends = line.sees_ends;
  window.partial = line.partial;
  window.notes = std::move(line.notes);
  if (auto done = read_bases(line.bases, snapshot); !done) return done.error();
  if (!line.opening_only) return std::vector<Piece>();
  return read_opening_only(*line.opening_only, snapshot);
}

}  // namespace ctprof::columns
