#include "core/file/columns/header.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/file/columns/announced_lines.hpp"
#include "core/file/columns/plugin_entities.hpp"
#include "core/file/columns/registry_cache.hpp"
#include "core/file/layout/field_reader.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/layout/sections.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/gap.hpp"

namespace ctprof::columns {

namespace {

// --- writing ---

// Returns whether the header contains this field of Meta; `format` is a member of the header
// itself.
bool is_header_field(std::string_view key) { return !is_summary_field(key) && key != "format"; }

bool is_header_object(const Snapshot& snapshot, std::string_view key) {
  return key == kHostContext || snapshot.extras->header_objects.contains(key);
}

void write_meta(const Snapshot& snapshot, bool is_summary, JsonWriter& out) {
  out.key("ctprof");
  out.put('{');
  FieldWriter(out).write_members(snapshot.meta, is_summary ? is_summary_field : is_header_field);
  write_members(is_summary ? snapshot.extras->unknown_summary_meta : snapshot.extras->unknown_meta,
                out);
  out.close('}');
  out.put(',');
}

void write_objects(const Snapshot& snapshot, bool in_header, JsonWriter& out) {
  for (const auto& [key, json] : snapshot.objects) {
    if (is_header_object(snapshot, key) != in_header || key == kPluginEntitiesKey) continue;
    out.key(key);
    out.raw(json);
    out.put(',');
  }
}

// The view refers to `derived`.
RegistryView registry_of(const Snapshot& snapshot, std::span<const DerivedDef> derived) {
  RegistryView registry{{}, derived, {}, snapshot.extras->unknown_definitions, labels_of(snapshot)};
  for (const Entity entity : kAllEntities)
    for (const Column& column : snapshot.table(entity).columns)
      if (!column.def().is_hidden) registry.metrics.push_back({&column.def(), &column.provenance});
  return registry;
}

void write_row_counts(std::span<const TableSlice> tables, std::span<const UnknownRows> unknown,
                      JsonWriter& out) {
  out.key("tables");
  out.put('{');
  for (const Entity entity : kAllEntities) {
    out.key(name(entity));
    out.put('[');
    for (const TableSlice& piece : tables)
      if (piece.entity == entity && !piece.is_exited)
        out.number(std::uint64_t{piece.rows}), out.put(',');
    out.close(']');
    out.put(',');
  }
  for (const UnknownRows& table : unknown) {
    out.key(table.entity);
    out.put('[');
    for (const std::uint64_t rows : table.rows) out.number(rows), out.put(',');
    out.close(']');
    out.put(',');
  }
  out.close('}');
}

void write_exited_row_counts(std::span<const TableSlice> tables, JsonWriter& out) {
  out.raw(",\"window\":true,\"exited\":[");
  for (const TableSlice& piece : tables)
    if (piece.is_exited) out.number(std::uint64_t{piece.rows}), out.put(',');
  out.close(']');
}

// --- reading ---

// Returns whether this version understands a top-level key of a header or summary line.
bool is_known_key(std::string_view key) {
  constexpr std::array<std::string_view, 9> kKnown{
      "kind", "format", "ctprof", "registry", "gap_names", "tables", "window", "exited", "stacks"};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

Result<void> read_meta_member(const KeptMembers& line, Meta& meta, KeptMembers& unknown) {
  const auto found = line.find("ctprof");
  if (found == line.end()) return Error{"has no ctprof object"};
  auto done = read_meta(found->second, meta, unknown);
  return done ? done : Error{"is wrong: " + done.error().text};
}

// Reads the numbers of rows of one table's lines.
void read_row_counts(Scanner& in, Entity entity, std::size_t most_lines,
                     std::vector<TableSlice>& pieces, std::size_t first = 0,
                     bool is_exited = false) {
  const std::size_t most = kMaxRowsByEntity[static_cast<std::size_t>(entity)];
  for (in.enter('['); in.next(']');) {
    const std::uint64_t rows = in.number();
    if (in.has_failed()) return;
    if (rows == 0) return in.fail("a table without rows is announced");
    if (rows > most - first)
      return in.fail("more than " + std::to_string(most) + " rows of " + std::string(name(entity)) +
                     " are announced");
    if (pieces.size() <= most_lines) pieces.push_back({entity, first, rows, is_exited});
    first += rows;
  }
}

// Reads the numbers of rows of the lines of an unknown entity.
void read_unknown_row_counts(Scanner& in, std::size_t most_lines, AnnouncedLines& announced) {
  std::size_t first = 0;
  for (in.enter('['); in.next(']');) {
    const std::uint64_t rows = in.number();
    if (in.has_failed()) return;
    if (rows == 0 || rows > limits::kThreads - first)
      return in.fail("no rows or too many rows of " + announced.unknown.back().entity +
                     " are announced");
    if (announced.pieces.size() <= most_lines) add_unknown_line(rows, first, false, announced);
    first += rows;
  }
}

}  // namespace

void write_header(const Snapshot& snapshot, std::span<const TableSlice> tables,
                  std::size_t stack_lines, JsonWriter& out) {
  out.put('{');
  out.member("kind", "header");
  out.member("format", kFormat);
  write_meta(snapshot, false, out);
  write_objects(snapshot, true, out);
  out.key("registry");
  const std::vector<DerivedDef> derived = snapshot.builtin_derived();
  write_registry(registry_of(snapshot, derived), out);
  out.raw(",\"gap_names\":[");
  for (const std::string_view word : kGapNames) out.text(word), out.put(',');
  out.close(']');
  out.put(',');
  write_row_counts(tables, snapshot.extras->unknown_tables, out);
  if (snapshot.window) write_exited_row_counts(tables, out);
  if (stack_lines > 0) out.raw(",\"stacks\":"), out.number(std::uint64_t{stack_lines});
  out.close('}');
  out.put('\n');
}

void write_summary(const Snapshot& snapshot, JsonWriter& out) {
  out.put('{');
  out.member("kind", "summary");
  write_meta(snapshot, true, out);
  write_objects(snapshot, false, out);
  write_plugin_entities(snapshot, out);
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
  if (const std::string kind = text_member(line, "kind"); kind != "header")
    return Error{"is of kind '" + kind.substr(0, 40) + "' where a block should begin"};
  const std::uint64_t format = number_member(line, "format");
  if (format == kFormat) return {};
  return Error{"is of format " + std::to_string(format) + ", but this ctprof reads formats up to " +
               std::to_string(kFormat) + (format > kFormat ? "; use a newer ctprof" : "")};
}

Result<AnnouncedLines> read_announced_lines(const KeptMembers& header, std::size_t most_lines) {
  const auto tables = header.find("tables");
  if (tables == header.end()) return Error{"announces no tables"};
  AnnouncedLines announced;
  std::vector<TableSlice>& pieces = announced.pieces;
  std::array<bool, kEntities> seen{};
  Scanner in(tables->second);
  for (in.enter('{'); in.next('}');) {
    const std::string word(in.key());
    Entity entity{};
    if (in.has_failed()) break;
    if (!parse(word, entity)) {
      if (!can_add_entity(announced.unknown, word))
        in.fail("rows of '" + word.substr(0, 40) +
                "' are announced twice, or too many unknown entities are announced");
      announced.unknown.push_back({.entity = word});
      read_unknown_row_counts(in, most_lines, announced);
    } else if (std::exchange(seen[static_cast<std::size_t>(entity)], true))
      in.fail("rows of " + word + " are announced twice");
    else
      read_row_counts(in, entity, most_lines, pieces);
  }
  if (in.has_failed()) return Error{"announces wrong tables: " + in.error_text()};
  if (const auto exited = header.find("exited"); exited != header.end()) {
    std::size_t living = 0;
    for (const TableSlice& piece : pieces)
      if (!piece.unknown_position && piece.entity == Entity::Thread) living += piece.rows;
    Scanner exited_scanner(exited->second);
    read_row_counts(exited_scanner, Entity::Thread, most_lines, pieces, living, true);
    if (exited_scanner.has_failed())
      return Error{"announces wrong rows of exited threads: " + exited_scanner.error_text()};
  }
  return announced;
}

Result<void> read_header(const KeptMembers& header, Snapshot& snapshot) {
  CTPROF_TRY(read_meta_member(header, snapshot.meta, snapshot.extras->unknown_meta));
  const auto found = header.find("registry");
  if (found == header.end()) return Error{"has no registry"};
  CTPROF_TRY_VALUE(const auto definitions, load_definitions(found->second));
  for (const auto& [def, provenance] : definitions->metrics)
    snapshot.table(def->entity).add(def, Gap::NotInFile).provenance = provenance;
  snapshot.derived = definitions->derived;
  snapshot.extras->unknown_definitions = definitions->unknown;
  for (const auto& [key, value] : header)
    if (!is_known_key(key))
      snapshot.objects[key] = value, snapshot.extras->header_objects.insert(key);
  return {};
}

std::uint64_t stack_line_count(const KeptMembers& header) {
  return number_member(header, "stacks");
}

bool announces_window(const KeptMembers& header) {
  const auto found = header.find("window");
  return found != header.end() && found->second == "true";
}

Result<void> read_summary(const KeptMembers& summary, Snapshot& snapshot) {
  CTPROF_TRY(read_meta_member(summary, snapshot.meta, snapshot.extras->unknown_summary_meta));
  for (const auto& [key, value] : snapshot.extras->unknown_meta)
    snapshot.extras->unknown_summary_meta.erase(key);
  for (const auto& [key, value] : summary)
    if (!is_known_key(key) && !snapshot.objects.emplace(key, value).second)
      return Error{"repeats '" + key.substr(0, 40) + "'"};
  return {};
}

Result<void> check_end(const KeptMembers& end, std::uint64_t lines, std::uint64_t bytes) {
  if (number_member(end, "lines") == lines && number_member(end, "bytes") == bytes) return {};
  return Error{"states " + std::to_string(number_member(end, "lines")) + " lines and " +
               std::to_string(number_member(end, "bytes")) + " bytes for the block, but it has " +
               std::to_string(lines) + " and " + std::to_string(bytes)};
}

}  // namespace ctprof::columns
