#include "core/file/columns/write_columns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/workers.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/field_io.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/registry_part.hpp"

namespace ctprof::columns {
namespace {

constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host};
// So many rows make a line of about half its limit, and enough lines to share among workers.
constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::string_view kHost = "host";

// Lines that are made of one piece, ready to be written: one, or more where it was too long.
struct Made {
  std::vector<std::size_t> rows;
  std::vector<std::string> frames;
  std::uint64_t text_bytes = 0;
};

// One worker's tools.
struct Hand {
  explicit Hand(int level) : folder(level) {}
  Folder folder;
  JsonWriter out;
};

std::vector<Piece> pieces_of(const Snapshot& snapshot) {
  std::vector<Piece> pieces;
  for (const Entity entity : kAllEntities) {
    const std::size_t rows = snapshot.table(entity).rows;
    for (std::size_t first = 0; first < rows; first += kRowsAtOnce)
      pieces.push_back({entity, first, std::min(kRowsAtOnce, rows - first)});
  }
  return pieces;
}

void make(const TableWriter& writer, const Piece& piece, Hand& hand, Made& made) {
  hand.out.clear();
  writer.write(piece, hand.out);
  if (hand.out.size() > limits::kMiB && piece.rows > 1) {
    const std::size_t half = piece.rows / 2;
    make(writer, {piece.entity, piece.first_row, half}, hand, made);
    return make(writer, {piece.entity, piece.first_row + half, piece.rows - half}, hand, made);
  }
  made.rows.push_back(piece.rows);
  made.frames.push_back(hand.folder.fold(hand.out.view()));
  made.text_bytes += hand.out.size();
}

std::vector<Made> make_tables(const Snapshot& snapshot, const std::vector<Piece>& pieces, int level,
                              unsigned workers) {
  const TableWriter writer(snapshot);
  std::vector<Made> made(pieces.size());
  std::vector<std::optional<Hand>> hands(std::max(workers, 1u));
  share(workers, pieces.size(), [&](unsigned worker, std::size_t i) {
    if (!hands[worker]) hands[worker].emplace(level);
    make(writer, pieces[i], *hands[worker], made[i]);
  });
  return made;
}

// The format is the header's own.
bool is_early(std::string_view key) { return !is_late(key) && key != "format"; }

void write_list(JsonWriter& out, std::string_view key, const auto& items, auto write) {
  out.key(key);
  out.put('[');
  for (const auto& item : items) write(item), out.put(',');
  out.close(']');
  out.put(',');
}

RegistryPart registry_of(const Snapshot& snapshot) {
  RegistryPart registry;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      if (!column.def().hidden) registry.metrics.push_back({column.def(), column.provenance});
  registry.derived = snapshot.derived;
  return registry;
}

// How many rows each line of a table has, by entity.
void write_plan(const std::vector<Piece>& pieces, const std::vector<Made>& made, JsonWriter& out) {
  out.key("tables");
  out.put('{');
  for (const Entity entity : kAllEntities) {
    out.key(name(entity));
    out.put('[');
    for (std::size_t i = 0; i < pieces.size(); ++i)
      for (const std::size_t rows : made[i].rows)
        if (pieces[i].entity == entity) out.number(std::uint64_t{rows}), out.put(',');
    out.close(']');
    out.put(',');
  }
  out.close('}');
}

void write_header(const Snapshot& snapshot, const std::vector<Piece>& pieces,
                  const std::vector<Made>& made, JsonWriter& out) {
  out.put('{');
  out.member("kind", "header");
  out.member("format", kFormat);
  out.key("ctprof");
  out.put('{');
  FieldWriter(out).members(snapshot.meta, is_early);
  out.close('}');
  out.put(',');
  if (const auto host = snapshot.objects.find(std::string(kHost)); host != snapshot.objects.end())
    out.key(kHost), out.raw(host->second), out.put(',');
  out.key("registry");
  write_registry(registry_of(snapshot), out);
  out.put(',');
  write_list(out, "gap_names", kGapNames, [&](std::string_view word) { out.text(word); });
  write_plan(pieces, made, out);
  out.close('}');
  out.put('\n');
}

void write_summary(const Snapshot& snapshot, JsonWriter& out) {
  out.put('{');
  out.member("kind", "summary");
  out.key("ctprof");
  out.put('{');
  FieldWriter(out).members(snapshot.meta, is_late);
  out.close('}');
  out.put(',');
  for (const auto& [key, json] : snapshot.objects) {
    if (key == kHost) continue;
    out.key(key);
    out.raw(json);
    out.put(',');
  }
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

// Puts lines into the file, and counts them.
class Lines {
 public:
  Lines(OutFile& file, int level) : file_(&file), folder_(level) {}

  Result<void> write(std::string_view text) {
    return write_frame(folder_.fold(text), text.size(), 1);
  }
  Result<void> write(const Made& made) {
    text_bytes_ += made.text_bytes;
    lines_ += made.frames.size();
    for (const std::string& frame : made.frames)
      if (auto done = file_->write(frame); !done) return done;
    return {};
  }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  Result<void> write_frame(const std::string& frame, std::size_t text_bytes, std::size_t lines) {
    text_bytes_ += text_bytes;
    lines_ += lines;
    return file_->write(frame);
  }

  OutFile* file_;
  Folder folder_;
  std::uint64_t lines_ = 0;
  std::uint64_t text_bytes_ = 0;
};

Result<void> write_lines(const Snapshot& snapshot, const std::vector<Piece>& pieces,
                         const std::vector<Made>& made, Lines& lines) {
  JsonWriter out;
  write_header(snapshot, pieces, made, out);
  if (auto done = lines.write(out.view()); !done) return done;
  for (const Made& table : made)
    if (auto done = lines.write(table); !done) return done;
  for (const RawJson& line : snapshot.unknown_lines)
    if (auto done = lines.write(line + "\n"); !done) return done;
  out.clear();
  write_summary(snapshot, out);
  if (auto done = lines.write(out.view()); !done) return done;
  out.clear();
  write_end(lines.lines() + 1, lines.text_bytes(), out);
  return lines.write(out.view());
}

}  // namespace

Result<std::uint64_t> write_block(const Snapshot& snapshot, OutFile& file, int level,
                                  unsigned workers) {
  const std::vector<Piece> pieces = pieces_of(snapshot);
  const std::vector<Made> made = make_tables(snapshot, pieces, level, workers);
  Lines lines(file, level);
  if (auto done = write_lines(snapshot, pieces, made, lines); !done) return done.error();
  if (const std::string pad = padding(lines.text_bytes(), file.bytes()); !pad.empty())
    if (auto done = file.write(pad); !done) return done.error();
  return lines.text_bytes();
}

}  // namespace ctprof::columns
