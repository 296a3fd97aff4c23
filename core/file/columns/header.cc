#include "core/file/columns/header.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>

#include "core/file/columns/known_registry.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/layout/scanner.hpp"
#include "core/file/layout/sections.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/gap.hpp"

namespace ctprof::columns {

// The line of kind `window`.
struct BasesOf {
  Entity entity = Entity::Thread;
  std::vector<std::string> columns;
};
struct OpeningLines {
  Entity entity = Entity::Thread;
  std::vector<std::string> columns;
  std::vector<std::uint64_t> rows;  // of each line
};
struct WindowLine {
  Moment opened;
  std::uint64_t living = 0, ended_lost = 0, ended_unseen = 0, ended_merged = 0;
  bool sees_ends = false, partial = false;
  std::vector<std::string> notes;
  std::vector<BasesOf> bases;
  std::optional<std::vector<OpeningLines>> opening_only;
};

template <Of<BasesOf> T, class Visitor>
void each_field(T& bases, Visitor&& visit) {
  visit("entity", bases.entity);
  visit("columns", bases.columns);
}

template <Of<OpeningLines> T, class Visitor>
void each_field(T& lines, Visitor&& visit) {
  visit("entity", lines.entity);
  visit("columns", lines.columns);
  visit("rows", lines.rows);
}

template <Of<WindowLine> T, class Visitor>
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

constexpr std::array<std::size_t, kEntities> kMostRows{limits::kThreads, limits::kThreads,
                                                       limits::kCgroups, 1};

// --- writing ---

// The format is the header's own.
bool is_early(std::string_view key) { return !is_late(key) && key != "format"; }

bool is_early_object(const Snapshot& snapshot, std::string_view key) {
  return key == kHostContext || snapshot.early_objects.contains(key);
}

void write_meta(const Snapshot& snapshot, bool late, JsonWriter& out) {
  out.key("ctprof");
  out.put('{');
  FieldWriter(out).members(snapshot.meta, late ? is_late : is_early);
  write_members(late ? snapshot.unknown_late_meta : snapshot.unknown_meta, out);
  out.close('}');
  out.put(',');
}

void write_objects(const Snapshot& snapshot, bool early, JsonWriter& out) {
  for (const auto& [key, json] : snapshot.objects) {
    if (is_early_object(snapshot, key) != early) continue;
    out.key(key);
    out.raw(json);
    out.put(',');
  }
}

RegistryView registry_of(const Snapshot& snapshot) {
  RegistryView registry{{}, snapshot.derived, {}, snapshot.unknown_definitions};
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      if (!column.def().hidden) registry.metrics.push_back({&column.def(), &column.provenance});
  return registry;
}

void write_plan(std::span<const Piece> tables, JsonWriter& out) {
  out.key("tables");
  out.put('{');
  for (const Entity entity : kAllEntities) {
    out.key(name(entity));
    out.put('[');
    for (const Piece& piece : tables)
      if (piece.entity == entity && !piece.ended)
        out.number(std::uint64_t{piece.rows}), out.put(',');
    out.close(']');
    out.put(',');
  }
  out.close('}');
}

void write_ended(std::span<const Piece> tables, JsonWriter& out) {
  out.raw(",\"window\":true,\"exited\":[");
  for (const Piece& piece : tables)
    if (piece.ended) out.number(std::uint64_t{piece.rows}), out.put(',');
  out.close(']');
}

std::vector<OpeningLines> opening_lines(const Snapshot& opening_only,
                                        std::span<const Piece> pieces) {
  std::vector<OpeningLines> all;
  for (const Entity entity : kAllEntities) {
    OpeningLines& lines = all.emplace_back(OpeningLines{entity, {}, {}});
    for (const Column& column : opening_only.table(entity).columns)
      lines.columns.push_back(column.def().name);
    for (const Piece& piece : pieces)
      if (piece.entity == entity) lines.rows.push_back(piece.rows);
  }
  return all;
}

// --- reading ---

// What top-level keys of header and summary mean to this version.
bool is_known(std::string_view key) {
  constexpr std::array<std::string_view, 9> kKnown{
      "kind", "format", "ctprof", "registry", "gap_names", "tables", "window", "exited", "stacks"};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

Result<void> read_meta_of(const KeptMembers& line, Meta& meta, KeptMembers& unknown) {
  const auto found = line.find("ctprof");
  if (found == line.end()) return Error{"has no ctprof object"};
  auto done = read_meta(found->second, meta, unknown);
  return done ? done : Error{"is wrong: " + done.error().text};
}

// The lines of one table.
void read_rows(Scanner& in, Entity entity, std::size_t most_lines, std::vector<Piece>& pieces,
               std::size_t first = 0, bool ended = false) {
  const std::size_t most = kMostRows[static_cast<std::size_t>(entity)];
  for (in.enter('['); in.next(']');) {
    const std::uint64_t rows = in.number();
    if (in.failed()) return;
    if (rows == 0) return in.fail("a table without rows is announced");
    if (rows > most - first)
      return in.fail("more than " + std::to_string(most) + " rows of " + std::string(name(entity)) +
                     " are announced");
    if (pieces.size() <= most_lines) pieces.push_back({entity, first, rows, ended});
    first += rows;
  }
}

}  // namespace

void write_header(const Snapshot& snapshot, std::span<const Piece> tables, std::size_t stack_lines,
                  JsonWriter& out) {
  out.put('{');
  out.member("kind", "header");
  out.member("format", kFormat);
  write_meta(snapshot, false, out);
  write_objects(snapshot, true, out);
  out.key("registry");
  write_registry(registry_of(snapshot), out);
  out.raw(",\"gap_names\":[");
  for (const std::string_view word : kGapNames) out.text(word), out.put(',');
  out.close(']');
  out.put(',');
  write_plan(tables, out);
  if (snapshot.window) write_ended(tables, out);
  if (stack_lines > 0) out.raw(",\"stacks\":"), out.number(std::uint64_t{stack_lines});
  out.close('}');
  out.put('\n');
}

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
    BasesOf& bases = line.bases.emplace_back(BasesOf{entity, {}});
    for (const Column& column : window.openings[static_cast<std::size_t>(entity)].columns)
      bases.columns.push_back(column.def().name);
  }
  if (window.opening_only) line.opening_only = opening_lines(*window.opening_only, opening_only);
  out.put('{');
  out.member("kind", "window");
  FieldWriter(out).members(line, [](std::string_view) { return true; });
  if (!window.host.empty()) write_members({{kHostContext, window.host}}, out);
  write_members(snapshot.unknown_window, out);
  out.close('}');
  out.put('\n');
}

void write_summary(const Snapshot& snapshot, JsonWriter& out) {
  out.put('{');
  out.member("kind", "summary");
  write_meta(snapshot, true, out);
  write_objects(snapshot, false, out);
  out.close('}');
  out.put('\n');
}

void write_end(std::uint64_t lines, std::uint64_t bytes, JsonWriter& out) {
  out.put('{');
  out.member("kind", "end");
  out.member("lines", lines);
  out.member("bytes", bytes);
  out.close('}');
  out.put('\n');
}

Result<KeptMembers> parse_line(std::string_view text) {
  auto members = parse_members(text, 1);
  if (!members) return Error{"is wrong: " + members.error().text};
  return members;
}

Result<void> check_header(const KeptMembers& line) {
  if (const std::string kind = text_in(line, "kind"); kind != "header")
    return Error{"is of kind '" + kind.substr(0, 40) + "' where a block should begin"};
  const std::uint64_t format = number_in(line, "format");
  if (format == kFormat) return {};
  return Error{"is of format " + std::to_string(format) + "; this ctprof reads up to " +
               std::to_string(kFormat)};
}

Result<std::vector<Piece>> read_plan(const KeptMembers& header, std::size_t most_lines) {
  const auto tables = header.find("tables");
  if (tables == header.end()) return Error{"announces no tables"};
  std::vector<Piece> pieces;
  std::array<bool, kEntities> seen{};
  Scanner in(tables->second);
  for (in.enter('{'); in.next('}');) {
    const std::string word(in.key());
    Entity entity{};
    if (!in.failed() && !parse(word, entity))
      in.fail("rows of '" + word.substr(0, 40) + "', which this version does not know,");
    else if (std::exchange(seen[static_cast<std::size_t>(entity)], true))
      in.fail("rows of " + word + " are announced twice");
    else
      read_rows(in, entity, most_lines, pieces);
  }
  if (in.failed()) return Error{"announces wrong tables: " + in.why()};
  if (const auto exited = header.find("exited"); exited != header.end()) {
    std::size_t living = 0;
    for (const Piece& piece : pieces) living += piece.entity == Entity::Thread ? piece.rows : 0;
    Scanner ended(exited->second);
    read_rows(ended, Entity::Thread, most_lines, pieces, living, true);
    if (ended.failed()) return Error{"announces wrong rows of exited threads: " + ended.why()};
  }
  return pieces;
}

Result<void> read_header(const KeptMembers& header, Snapshot& snapshot) {
  if (auto done = read_meta_of(header, snapshot.meta, snapshot.unknown_meta); !done) return done;
  const auto found = header.find("registry");
  if (found == header.end()) return Error{"has no registry"};
  const auto definitions = definitions_of(found->second);
  if (!definitions) return definitions.error();
  for (const auto& [def, provenance] : (*definitions)->metrics)
    snapshot.table(def->entity).add(def, Gap::NotInFile).provenance = provenance;
  snapshot.derived = (*definitions)->derived;
  snapshot.unknown_definitions = (*definitions)->unknown;
  for (const auto& [key, value] : header)
    if (!is_known(key)) snapshot.objects[key] = value, snapshot.early_objects.insert(key);
  return {};
}

std::uint64_t stack_lines_of(const KeptMembers& header) { return number_in(header, "stacks"); }

bool announces_window(const KeptMembers& header) {
  const auto found = header.find("window");
  return found != header.end() && found->second == "true";
}

namespace {

Result<void> read_bases(std::span<const BasesOf> all, Snapshot& snapshot) {
  for (const BasesOf& bases : all)
    for (const std::string& name : bases.columns) {
      Opening& opening = snapshot.window->openings[static_cast<std::size_t>(bases.entity)];
      const Column* end = snapshot.table(bases.entity).find(name);
      if (!end || opening.find(name))
        return Error{"has a base of '" + name.substr(0, 40) +
                     "', which is not a column or is repeated"};
      if (end->def().storage == Storage::Stacks)
        return Error{"has a base of '" + name.substr(0, 40) + "', which cannot have any"};
      opening.columns.emplace_back(end->def(), 0, Gap::NoBase);
    }
  return {};
}

// Gives `found` the columns of one entity.
Result<void> read_opening_columns(const OpeningLines& lines, const Snapshot& snapshot,
                                  Snapshot& found) {
  Table& table = found.table(lines.entity);
  for (const std::string& name : lines.columns) {
    const Column* end = snapshot.table(lines.entity).find(name);
    if (!end || table.find(name) || end->def().storage == Storage::Stacks)
      return Error{"has rows of the opening with '" + name.substr(0, 40) +
                   "', which is not a column, is repeated, or has stacks"};
    table.add(end->shared_def(), Gap::NotInFile).provenance = end->provenance;
  }
  return {};
}

Result<std::vector<Piece>> read_opening_only(std::span<const OpeningLines> all,
                                             Snapshot& snapshot) {
  snapshot.window->opening_only = std::make_shared<Snapshot>();
  std::vector<Piece> pieces;
  for (const OpeningLines& lines : all) {
    if (auto done = read_opening_columns(lines, snapshot, *snapshot.window->opening_only); !done)
      return done.error();
    const std::size_t most = kMostRows[static_cast<std::size_t>(lines.entity)];
    std::size_t first = 0;
    for (const std::uint64_t rows : lines.rows) {
      if (rows == 0 || rows > most - first)
        return Error{"announces no rows or too many rows of the opening in one line"};
      pieces.push_back({lines.entity, first, rows, false, true});
      first += rows;
    }
  }
  return pieces;
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

Result<void> read_summary(const KeptMembers& summary, Snapshot& snapshot) {
  if (auto done = read_meta_of(summary, snapshot.meta, snapshot.unknown_late_meta); !done)
    return done;
  for (const auto& [key, value] : snapshot.unknown_meta) snapshot.unknown_late_meta.erase(key);
  for (const auto& [key, value] : summary)
    if (!is_known(key) && !snapshot.objects.emplace(key, value).second)
      return Error{"says '" + key.substr(0, 40) + "' again"};
  return {};
}

Result<void> check_end(const KeptMembers& end, std::uint64_t lines, std::uint64_t bytes) {
  if (number_in(end, "lines") == lines && number_in(end, "bytes") == bytes) return {};
  return Error{"says that the block has " + std::to_string(number_in(end, "lines")) +
               " lines and " + std::to_string(number_in(end, "bytes")) + " bytes, but it has " +
               std::to_string(lines) + " and " + std::to_string(bytes)};
}

}  // namespace ctprof::columns
