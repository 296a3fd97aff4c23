#include "core/file/columns/block_reader.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/json_scanner.hpp"
#include "core/base/workers.hpp"
#include "core/file/columns/plugin_entities.hpp"
#include "core/file/columns/registry_cache.hpp"
#include "core/file/columns/row_checks.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"

namespace ctprof::columns {
namespace {

TableReader::RowsByEntity count_rows(std::span<const TableSlice> pieces) {
  TableReader::RowsByEntity rows{};
  for (const TableSlice& piece : pieces)
    if (!piece.unknown_position) rows[static_cast<std::size_t>(piece.entity)] += piece.rows;
  return rows;
}

// Resizes the line lists of unknown entities to one empty line for each announced line.
std::span<UnknownRows> resize_lines(std::vector<UnknownRows>& unknown) {
  for (UnknownRows& table : unknown) table.lines.resize(table.rows.size());
  return unknown;
}

// Fails if the line differs from the announced one.
Result<void> check_unknown_table(std::string_view text, const TableSlice& piece,
                                 std::string_view entity) {
  CTPROF_TRY_VALUE(const auto members, parse_line(text));
  if (text_member(members, "kind") == piece.kind() && text_member(members, "entity") == entity &&
      number_member(members, "first_row") == piece.first_row)
    return {};
  return unexpected_table_error(piece, entity);
}

// Returns the kind of a line; empty if the text is not a line of this format.
std::string find_kind(std::string_view line) {
  Scanner in(line);
  std::string kind;
  for (in.enter('{'); in.next('}') && kind.empty();)
    if (in.key() == "kind")
      kind = in.text();
    else
      in.skip(limits::kDepth - 1);
  return in.has_failed() ? std::string() : kind;
}

constexpr std::array<std::string_view, 8> kKnownKinds{"header", "window",     "table",   "exited",
                                                      "stacks", kOpeningLine, "summary", "end"};

}  // namespace

// Parses the next line, which is not a table, and advances.
Result<KeptMembers> BlockReader::parse_next_line(Parse parse) {
  CTPROF_TRY_VALUE(const auto text, decompressor_.decompress(zstd_, frame(next_)));
  auto parsed = parse(text);
  if (!parsed) return error_at_line(next_, parsed.error());
  ++next_;
  return parsed;
}

Error BlockReader::error_at_line(std::size_t line, const Error& what) const {
  return {"line " + std::to_string(frame_of(line) + 1) + " " + what.text};
}

// Returns the bytes of the block's text before a line, including lines that were set aside.
std::size_t BlockReader::text_bytes_before(std::size_t line) const {
  std::size_t bytes = 0;
  for (std::size_t i = frame_of(first_); i < frame_of(line); ++i) bytes += frames_[i].text_bytes;
  return bytes;
}

Result<void> BlockReader::keep_text(std::string_view text, RawJson& kept) {
  if ((kept_bytes_ += text.size()) > limits::kKeptText)
    return Error{"and the lines before it have more than " + std::to_string(limits::kKeptText) +
                 " bytes of keys that this version does not know"};
  kept = remove_blanks(text);
  return {};
}

// Returns the announced lines. If the file contains all of them, also checks that each line is long
// enough for its rows.
Result<AnnouncedLines> BlockReader::read_announced(const KeptMembers& header) const {
  auto announced = read_announced_lines(header, lines_.size() - next_);
  if (!announced) return error_at_line(first_, announced.error());
  if (announced->pieces.size() > lines_.size() - next_) return announced;
  CTPROF_TRY(check_lengths(announced->pieces));
  return announced;
}

// Checks that each line is long enough for its announced rows. REQUIRES: the lines exist, starting
// at next_.
Result<void> BlockReader::check_lengths(std::span<const TableSlice> pieces) const {
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].rows > frame(next_ + i).text_bytes / limits::kRowBytes)
      return error_at_line(next_ + i,
                           Error{"is too short for the " + std::to_string(pieces[i].rows) +
                                 " rows that the header announces"});
  return {};
}

// Reads the lines of rows that only the opening of the window has. REQUIRES: as check_lengths().
Result<void> BlockReader::read_opening_only(std::span<const TableSlice> pieces,
                                            Snapshot& snapshot) {
  Snapshot& rows = *snapshot.window->opening_only;
  CTPROF_TRY(check_lengths(pieces));
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) text_bytes += frame(next_ + i).text_bytes;
  CTPROF_TRY(TableReader::prepare(rows, count_rows(pieces), text_bytes));
  rows.read_at.clear();
  TableReader tables(rows, text_bytes);
  const auto unknown = resize_lines(snapshot.extras->unknown_opening_only);
  CTPROF_TRY(fill_tables(pieces, rows, unknown, tables));
  next_ += pieces.size();
  return check_and_sort_opening_only(rows);
}

Result<void> BlockReader::read_tables(std::span<const TableSlice> pieces, std::size_t stack_lines,
                                      Snapshot& snapshot) {
  const std::size_t after_tables = next_ + pieces.size(),
                    text_bytes = text_bytes_before(after_tables + stack_lines);
  CTPROF_TRY(TableReader::prepare(snapshot, count_rows(pieces), text_bytes));
  TableReader tables(snapshot, text_bytes);
  const auto unknown = resize_lines(snapshot.extras->unknown_tables);
  CTPROF_TRY(fill_tables(pieces, snapshot, unknown, tables));
  CTPROF_TRY(read_stacks(after_tables, stack_lines, snapshot, tables.budget()));
  if (!tables.has_read_times()) snapshot.read_at.clear();
  if (snapshot.window && !tables.has_seen_times()) snapshot.window->seen_times.clear();
  return {};
}

Result<void> BlockReader::fill_tables(std::span<const TableSlice> pieces, Snapshot& snapshot,
                                      std::span<UnknownRows> unknown, TableReader& tables) {
  // The state of one worker.
  struct ReadState {
    ReadState(Snapshot& snapshot, TableReader& tables) : worker(snapshot, tables) {}
    FrameDecompressor decompressor;
    TableReader::Worker worker;
  };
  std::vector<std::optional<ReadState>> states(workers_);
  std::mutex failure_mutex;
  std::optional<std::pair<std::size_t, Error>> failure;  // the error of the first invalid line
  const auto read = [&](ReadState& state, std::size_t piece) -> Result<void> {
    CTPROF_TRY_VALUE(const auto text, state.decompressor.decompress(zstd_, frame(next_ + piece)));
    Result<void> done;
    if (const auto place = pieces[piece].unknown_position) {
      UnknownRows& table = unknown[place->table];
      done = check_unknown_table(text, pieces[piece], table.entity);
      if (done) done = keep_text(text, table.lines[place->line]);
    } else {
      done = tables.read(text, pieces[piece], state.worker);
    }
    return done ? done : error_at_line(next_ + piece, done.error());
  };
  share_work(workers_, pieces.size(), [&](unsigned worker, std::size_t piece) {
    if (!states[worker]) states[worker].emplace(snapshot, tables);
    const auto done = read(*states[worker], piece);
    if (done) return;
    const std::lock_guard lock(failure_mutex);
    if (!failure || piece < failure->first) failure.emplace(piece, done.error());
  });
  return failure ? Result<void>(failure->second) : Result<void>();
}

Result<void> BlockReader::read_stacks(std::size_t first, std::size_t lines, Snapshot& snapshot,
                                      PoolBudget& budget) {
  StackReader stacks(snapshot, budget);
  for (std::size_t line = first; line < first + lines; ++line) {
    CTPROF_TRY_VALUE(const auto text, decompressor_.decompress(zstd_, frame(line)));
    if (auto done = stacks.read(text); !done) return error_at_line(line, done.error());
  }
  auto done = stacks.finish();
  return done ? done : error_at_line(first + lines - 1, done.error());
}

// Kinds of lines whose position the header determines.
constexpr std::array<std::string_view, 5> kOrderedKinds{"header", "window", "table", "exited",
                                                        "stacks"};

// Reads the lines after the tables, up to the end of the block. Returns false if the file ends
// first.
Result<bool> BlockReader::read_rest(Snapshot* snapshot) {
  bool has_summary = false;
  while (!at_end()) {
    const std::size_t number = next_;
    CTPROF_TRY_VALUE(const auto found, parse_next_line());
    const std::string kind = text_member(found, "kind");
    Result<void> result;
    if (kind == "end")
      result = !has_summary ? Error{"ends a block without a summary"}
                            : check_end(found, frame_of(number) - frame_of(first_) + 1,
                                        text_bytes_before(number));
    else if (kind.empty() || has_summary || std::ranges::count(kOrderedKinds, kind) > 0)
      result = Error{"is of kind '" + kind.substr(0, 40) + "' out of order"};
    else if (kind == "summary" && snapshot)
      result = read_summary(found, *snapshot);
    else if (kind != "summary" && kind != kOpeningLine && snapshot)
      result = keep_text(to_object(found), snapshot->extras->unknown_lines.emplace_back());
    if (!result) return error_at_line(number, result.error());
    if (kind == "end") return true;
    has_summary = kind == "summary";
  }
  return false;
}

// Moves the lines of unknown kinds of the current block into `kept`, and shifts the remaining lines
// towards the end of the block. Returns false if the block has no such lines.
bool BlockReader::set_aside_unknown_lines(std::vector<RawJson>& kept) {
  std::vector<std::size_t> remaining;
  std::size_t line = first_;
  for (std::string kind; line < lines_.size() && kind != "end"; ++line) {
    const auto text = decompressor_.decompress(zstd_, frame(line));
    if (!text) break;
    kind = find_kind(*text);
    const bool is_unknown = !kind.empty() && std::ranges::count(kKnownKinds, kind) == 0;
    if (!is_unknown || !parse_line(*text) || !keep_text(*text, kept.emplace_back()))
      remaining.push_back(lines_[line]);
  }
  const bool found = remaining.size() < line - first_;
  first_ = line - remaining.size();
  std::ranges::copy(remaining, lines_.begin() + static_cast<std::ptrdiff_t>(first_));
  return found;
}

Result<bool> BlockReader::read_next(Snapshot* snapshot, bool with_rows) {
  first_ = next_;
  kept_bytes_ = 0;
  auto taken = read_block_lines(snapshot, with_rows);
  if (taken) return taken;
  kept_bytes_ = 0;
  std::vector<RawJson> unknown;
  if (!set_aside_unknown_lines(unknown)) return taken;
  next_ = first_;
  if (at_end()) return taken;  // no other lines are left
  if (snapshot) *snapshot = Snapshot();
  taken = read_block_lines(snapshot, with_rows);
  if (taken && snapshot) snapshot->extras->unknown_lines = std::move(unknown);
  return taken;
}

Result<bool> BlockReader::read_block_lines(Snapshot* snapshot, bool with_rows) {
  CTPROF_TRY_VALUE(const auto header, parse_next_line(parse_header));
  if (auto fine = check_header(header); !fine) return error_at_line(first_, fine.error());
  std::optional<KeptMembers> window;
  if (announces_window(header)) {
    if (at_end()) return false;
    CTPROF_TRY_VALUE(auto found, parse_next_line());
    if (text_member(found, "kind") != "window")
      return error_at_line(next_ - 1, Error{"is not the window that the header announces"});
    window = std::move(found);
  }
  auto announced = read_announced(header);
  if (!announced) return announced.error();
  const std::vector<TableSlice>& pieces = announced->pieces;
  if (pieces.size() > lines_.size() - next_) return false;
  const std::uint64_t stack_lines = stack_line_count(header);
  if (stack_lines > lines_.size() - next_ - pieces.size()) return false;
  std::vector<TableSlice> opening_only;
  if (snapshot) {
    if (auto done = read_header(header, *snapshot); !done)
      return error_at_line(first_, done.error());
    snapshot->extras->unknown_tables = std::move(announced->unknown);
    if (window) {
      auto announced = read_window(*window, *snapshot);
      if (!announced) return error_at_line(first_ + 1, announced.error());
      opening_only = std::move(*announced);
    }
    if (with_rows) CTPROF_TRY(read_tables(pieces, stack_lines, *snapshot));
    if (!with_rows) snapshot->rows_in_file = count_rows(pieces);
  }
  next_ += pieces.size() + stack_lines;
  if (opening_only.size() > lines_.size() - next_) return false;
  if (with_rows && !opening_only.empty()) CTPROF_TRY(read_opening_only(opening_only, *snapshot));
  const auto whole = read_rest(snapshot);
  if (!whole || !*whole || !snapshot) return whole;
  if (with_rows) CTPROF_TRY(check_and_sort_rows(*snapshot));
  read_plugin_entities(*snapshot, with_rows);
  snapshot->text_bytes = text_bytes_before(next_);
  return true;
}

}  // namespace ctprof::columns
