#include "core/file/columns/block_reader.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/workers.hpp"
#include "core/file/columns/known_registry.hpp"
#include "core/file/columns/row_checks.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"
#include "core/file/layout/scanner.hpp"

namespace ctprof::columns {
namespace {

TableReader::RowsByEntity rows_of(std::span<const Piece> pieces) {
  TableReader::RowsByEntity rows{};
  for (const Piece& piece : pieces)
    if (!piece.unknown) rows[static_cast<std::size_t>(piece.entity)] += piece.rows;
  return rows;
}

// Resizes the line lists of unknown entities to one empty line for each announced line.
std::span<UnknownRows> with_lines(std::vector<UnknownRows>& unknown) {
  for (UnknownRows& table : unknown) table.lines.resize(table.rows.size());
  return unknown;
}

// Fails if the line differs from the announced one.
Result<void> check_unknown_table(std::string_view text, const Piece& piece,
                                 std::string_view entity) {
  const auto members = parse_line(text);
  if (!members) return members.error();
  if (text_in(*members, "kind") == piece.kind() && text_in(*members, "entity") == entity &&
      number_in(*members, "first_row") == piece.first_row)
    return {};
  return Error{"is not the table that the header announces there: rows of " +
               std::string(entity.substr(0, 40)) + " from " + std::to_string(piece.first_row)};
}

// Returns the kind of a line; empty if the text is not a line of this format.
std::string kind_of(std::string_view line) {
  Scanner in(line);
  std::string kind;
  for (in.enter('{'); in.next('}') && kind.empty();)
    if (in.key() == "kind")
      kind = in.text();
    else
      in.skip(limits::kDepth - 1);
  return in.failed() ? std::string() : kind;
}

constexpr std::array<std::string_view, 8> kKnownKinds{"header", "window",     "table",   "exited",
                                                      "stacks", kOpeningLine, "summary", "end"};

}  // namespace

// Parses the next line, which is not a table, and advances.
Result<KeptMembers> BlockReader::line(Parse parse) {
  const auto text = unfolder_.unfold(zstd_, frame(next_));
  if (!text) return text.error();
  auto parsed = parse(*text);
  if (!parsed) return at_line(next_, parsed.error());
  ++next_;
  return parsed;
}

Error BlockReader::at_line(std::size_t line, const Error& what) const {
  return {"line " + std::to_string(frame_of(line) + 1) + " " + what.text};
}

// Returns the bytes of the block's text before a line, including lines that were set aside.
std::size_t BlockReader::text_until(std::size_t line) const {
  std::size_t bytes = 0;
  for (std::size_t i = frame_of(first_); i < frame_of(line); ++i) bytes += frames_[i].text_bytes;
  return bytes;
}

Result<void> BlockReader::keep(std::string_view text, RawJson& kept) {
  if ((kept_bytes_ += text.size()) > limits::kKeptText)
    return Error{"and those before it have more than " + std::to_string(limits::kKeptText) +
                 " bytes that this version does not know"};
  kept = compact(text);
  return {};
}

// Returns the announced lines. If the file contains all of them, also checks that each line is long
// enough for its rows.
Result<Announced> BlockReader::plan(const KeptMembers& header) const {
  auto announced = read_plan(header, lines_.size() - next_);
  if (!announced) return at_line(first_, announced.error());
  if (announced->pieces.size() > lines_.size() - next_) return announced;
  if (auto fine = check_lengths(announced->pieces); !fine) return fine.error();
  return announced;
}

// Checks that each line is long enough for its announced rows. REQUIRES: the lines exist, starting
// at next_.
Result<void> BlockReader::check_lengths(std::span<const Piece> pieces) const {
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].rows > frame(next_ + i).text_bytes / limits::kRowBytes)
      return at_line(next_ + i, Error{"is too short for the " + std::to_string(pieces[i].rows) +
                                      " rows that the header announces"});
  return {};
}

// Reads the lines of rows that only the opening of the window has. REQUIRES: as check_lengths().
Result<void> BlockReader::read_opening_only(std::span<const Piece> pieces, Snapshot& snapshot) {
  Snapshot& rows = *snapshot.window->opening_only;
  if (auto fine = check_lengths(pieces); !fine) return fine;
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) text_bytes += frame(next_ + i).text_bytes;
  if (auto done = TableReader::prepare(rows, rows_of(pieces), text_bytes); !done) return done;
  rows.read_at.clear();
  TableReader tables(rows, text_bytes);
  const auto unknown = with_lines(snapshot.window->unknown_opening_only);
  if (auto done = fill_tables(pieces, rows, unknown, tables); !done) return done;
  next_ += pieces.size();
  return check_opening_only(rows);
}

Result<void> BlockReader::read_tables(std::span<const Piece> pieces, std::size_t stack_lines,
                                      Snapshot& snapshot) {
  const std::size_t behind = next_ + pieces.size(), text_bytes = text_until(behind + stack_lines);
  if (auto done = TableReader::prepare(snapshot, rows_of(pieces), text_bytes); !done) return done;
  TableReader tables(snapshot, text_bytes);
  const auto unknown = with_lines(snapshot.unknown_tables);
  if (auto done = fill_tables(pieces, snapshot, unknown, tables); !done) return done;
  if (auto done = read_stacks(behind, stack_lines, snapshot, tables.budget()); !done) return done;
  if (!tables.met_read_at()) snapshot.read_at.clear();
  if (snapshot.window && !tables.met_seen()) snapshot.window->seen.clear();
  return {};
}

Result<void> BlockReader::fill_tables(std::span<const Piece> pieces, Snapshot& snapshot,
                                      std::span<UnknownRows> unknown, TableReader& tables) {
  // The state of one worker.
  struct Hand {
    Hand(Snapshot& snapshot, TableReader& tables) : worker(snapshot, tables) {}
    Unfolder unfolder;
    TableReader::Worker worker;
  };
  std::vector<std::optional<Hand>> hands(workers_);
  std::mutex failing;
  std::optional<std::pair<std::size_t, Error>> failure;  // the error of the first invalid line
  const auto read = [&](Hand& hand, std::size_t piece) -> Result<void> {
    const auto text = hand.unfolder.unfold(zstd_, frame(next_ + piece));
    if (!text) return text.error();
    Result<void> done;
    if (const auto place = pieces[piece].unknown) {
      UnknownRows& table = unknown[place->table];
      done = check_unknown_table(*text, pieces[piece], table.entity);
      if (done) done = keep(*text, table.lines[place->line]);
    } else {
      done = tables.read(*text, pieces[piece], hand.worker);
    }
    return done ? done : at_line(next_ + piece, done.error());
  };
  share(workers_, pieces.size(), [&](unsigned worker, std::size_t piece) {
    if (!hands[worker]) hands[worker].emplace(snapshot, tables);
    const auto done = read(*hands[worker], piece);
    if (done) return;
    const std::lock_guard lock(failing);
    if (!failure || piece < failure->first) failure.emplace(piece, done.error());
  });
  return failure ? Result<void>(failure->second) : Result<void>();
}

Result<void> BlockReader::read_stacks(std::size_t first, std::size_t lines, Snapshot& snapshot,
                                      PoolBudget& budget) {
  StackReader stacks(snapshot, budget);
  for (std::size_t line = first; line < first + lines; ++line) {
    const auto text = unfolder_.unfold(zstd_, frame(line));
    if (!text) return text.error();
    if (auto done = stacks.read(*text); !done) return at_line(line, done.error());
  }
  auto done = stacks.finish();
  return done ? done : at_line(first + lines - 1, done.error());
}

// Kinds of lines whose position the header determines.
constexpr std::array<std::string_view, 5> kBeforeOthers{"header", "window", "table", "exited",
                                                        "stacks"};

// Reads the lines after the tables, up to the end of the block. Returns false if the file ends
// first.
Result<bool> BlockReader::take_rest(Snapshot* snapshot) {
  bool has_summary = false;
  while (!at_end()) {
    const std::size_t number = next_;
    const auto found = line();
    if (!found) return found.error();
    const std::string kind = text_in(*found, "kind");
    Result<void> fine;
    if (kind == "end")
      fine = !has_summary
                 ? Error{"ends a block without a summary"}
                 : check_end(*found, frame_of(number) - frame_of(first_) + 1, text_until(number));
    else if (kind.empty() || has_summary || std::ranges::count(kBeforeOthers, kind) > 0)
      fine = Error{"is of kind '" + kind.substr(0, 40) + "' out of order"};
    else if (kind == "summary" && snapshot)
      fine = read_summary(*found, *snapshot);
    else if (kind != "summary" && kind != kOpeningLine && snapshot)
      fine = keep(object_of(*found), snapshot->unknown_lines.emplace_back());
    if (!fine) return at_line(number, fine.error());
    if (kind == "end") return true;
    has_summary = kind == "summary";
  }
  return false;
}

// Moves the lines of unknown kinds of the current block into `kept`, and shifts the remaining lines
// towards the end of the block. Returns false if the block has no such lines.
bool BlockReader::set_aside_unknown_lines(std::vector<RawJson>& kept) {
  std::vector<std::size_t> left;
  std::size_t line = first_;
  for (std::string kind; line < lines_.size() && kind != "end"; ++line) {
    const auto text = unfolder_.unfold(zstd_, frame(line));
    if (!text) break;
    kind = kind_of(*text);
    const bool is_unknown = !kind.empty() && std::ranges::count(kKnownKinds, kind) == 0;
    if (!is_unknown || !parse_line(*text) || !keep(*text, kept.emplace_back()))
      left.push_back(lines_[line]);
  }
  const bool found = left.size() < line - first_;
  first_ = line - left.size();
  std::ranges::copy(left, lines_.begin() + static_cast<std::ptrdiff_t>(first_));
  return found;
}

Result<bool> BlockReader::take(Snapshot* snapshot, bool with_rows) {
  first_ = next_;
  kept_bytes_ = 0;
  auto taken = take_block(snapshot, with_rows);
  if (taken) return taken;
  kept_bytes_ = 0;
  std::vector<RawJson> unknown;
  if (!set_aside_unknown_lines(unknown)) return taken;
  next_ = first_;
  if (at_end()) return taken;  // no other lines are left
  if (snapshot) *snapshot = Snapshot();
  taken = take_block(snapshot, with_rows);
  if (taken && snapshot) snapshot->unknown_lines = std::move(unknown);
  return taken;
}

Result<bool> BlockReader::take_block(Snapshot* snapshot, bool with_rows) {
  const auto header = line(parse_header);
  if (!header) return header.error();
  if (auto fine = check_header(*header); !fine) return at_line(first_, fine.error());
  std::optional<KeptMembers> window;
  if (announces_window(*header)) {
    if (at_end()) return false;
    auto found = line();
    if (!found) return found.error();
    if (text_in(*found, "kind") != "window")
      return at_line(next_ - 1, Error{"is no window, which the header announces"});
    window = std::move(*found);
  }
  auto announced = plan(*header);
  if (!announced) return announced.error();
  const std::vector<Piece>& pieces = announced->pieces;
  if (pieces.size() > lines_.size() - next_) return false;
  const std::uint64_t stack_lines = stack_lines_of(*header);
  if (stack_lines > lines_.size() - next_ - pieces.size()) return false;
  std::vector<Piece> opening_only;
  if (snapshot) {
    if (auto done = read_header(*header, *snapshot); !done) return at_line(first_, done.error());
    snapshot->unknown_tables = std::move(announced->unknown);
    if (window) {
      auto announced = read_window(*window, *snapshot);
      if (!announced) return at_line(first_ + 1, announced.error());
      opening_only = std::move(*announced);
    }
    if (with_rows)
      if (auto done = read_tables(pieces, stack_lines, *snapshot); !done) return done.error();
    if (!with_rows) snapshot->rows_in_file = rows_of(pieces);
  }
  next_ += pieces.size() + stack_lines;
  if (opening_only.size() > lines_.size() - next_) return false;
  if (with_rows && !opening_only.empty())
    if (auto done = read_opening_only(opening_only, *snapshot); !done) return done.error();
  const auto whole = take_rest(snapshot);
  if (!whole || !*whole || !snapshot) return whole;
  if (with_rows)
    if (auto fine = settle_rows(*snapshot); !fine) return fine.error();
  snapshot->text_bytes = text_until(next_);
  return true;
}

}  // namespace ctprof::columns
