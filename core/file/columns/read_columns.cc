#include "core/file/columns/read_columns.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/workers.hpp"
#include "core/file/columns/allowance.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/known_registry.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/row_checks.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/members.hpp"

namespace ctprof::columns {
namespace {

Error at_line(std::size_t line, const Error& what) {
  return {"line " + std::to_string(line + 1) + " " + what.text};
}

TableReader::RowsByEntity rows_of(std::span<const Piece> pieces) {
  TableReader::RowsByEntity rows{};
  for (const Piece& piece : pieces) rows[static_cast<std::size_t>(piece.entity)] += piece.rows;
  return rows;
}

// One block after the other.
class Reader {
 public:
  Reader(std::string_view zstd, std::span<const Frame> frames, unsigned workers)
      : zstd_(zstd), frames_(frames), workers_(std::max(workers, 1u)) {}

  bool at_end() const { return next_ == frames_.size(); }
  // The frame behind the last one that was taken.
  std::size_t next() const { return next_; }
  // Takes the next block, or passes over it where there is no snapshot for it. False where the file
  // ends before it does.
  Result<bool> take(Snapshot* snapshot) { return take(snapshot, true); }
  // The same, with columns alone.
  Result<bool> take_outline(Snapshot& snapshot) { return take(&snapshot, false); }

 private:
  Result<bool> take(Snapshot* snapshot, bool with_rows);
  using Parse = Result<KeptMembers> (*)(std::string_view text);
  Result<KeptMembers> line(Parse parse = parse_line);
  Result<std::vector<Piece>> plan(const KeptMembers& header) const;
  Result<void> check_lengths(std::span<const Piece> pieces) const;
  Result<void> read_opening_only(std::span<const Piece> pieces, Snapshot& snapshot);
  Result<void> read_tables(std::span<const Piece> pieces, std::size_t stack_lines,
                           Snapshot& snapshot);
  Result<void> fill_tables(std::span<const Piece> pieces, Snapshot& snapshot, TableReader& tables);
  Result<void> read_stacks(std::size_t first, std::size_t lines, Snapshot& snapshot,
                           PoolBudget& budget);
  Result<bool> take_rest(Snapshot* snapshot);
  std::size_t text_until(std::size_t frame) const;

  std::string_view zstd_;
  std::span<const Frame> frames_;
  unsigned workers_;
  Unfolder unfolder_;
  std::size_t next_ = 0;   // of the frames
  std::size_t first_ = 0;  // of this block's
};

// Takes the next line, which is no table.
Result<KeptMembers> Reader::line(Parse parse) {
  const auto text = unfolder_.unfold(zstd_, frames_[next_]);
  if (!text) return text.error();
  auto parsed = parse(*text);
  if (!parsed) return at_line(next_, parsed.error());
  ++next_;
  return parsed;
}

std::size_t Reader::text_until(std::size_t frame) const {
  std::size_t bytes = 0;
  for (std::size_t i = first_; i < frame; ++i) bytes += frames_[i].text_bytes;
  return bytes;
}

// Where its lines are there, each has room for its rows.
Result<std::vector<Piece>> Reader::plan(const KeptMembers& header) const {
  auto pieces = read_plan(header, frames_.size() - next_);
  if (!pieces) return at_line(first_, pieces.error());
  if (pieces->size() > frames_.size() - next_) return pieces;
  if (auto fine = check_lengths(*pieces); !fine) return fine.error();
  return pieces;
}

// REQUIRES: their lines are there, from next_ on.
Result<void> Reader::check_lengths(std::span<const Piece> pieces) const {
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].rows > frames_[next_ + i].text_bytes / limits::kRowBytes)
      return at_line(next_ + i, Error{"is too short for the " + std::to_string(pieces[i].rows) +
                                      " rows that the header announces"});
  return {};
}

// Reads the lines of rows that only the opening of the window has. REQUIRES: as above.
Result<void> Reader::read_opening_only(std::span<const Piece> pieces, Snapshot& snapshot) {
  Snapshot& rows = *snapshot.window->opening_only;
  if (auto fine = check_lengths(pieces); !fine) return fine;
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) text_bytes += frames_[next_ + i].text_bytes;
  if (auto done = TableReader::prepare(rows, rows_of(pieces), text_bytes); !done) return done;
  rows.read_at.clear();
  TableReader tables(rows, text_bytes);
  if (auto done = fill_tables(pieces, rows, tables); !done) return done;
  next_ += pieces.size();
  return check_opening_only(rows);
}

Result<void> Reader::read_tables(std::span<const Piece> pieces, std::size_t stack_lines,
                                 Snapshot& snapshot) {
  const std::size_t behind = next_ + pieces.size(), text_bytes = text_until(behind + stack_lines);
  if (auto done = TableReader::prepare(snapshot, rows_of(pieces), text_bytes); !done) return done;
  TableReader tables(snapshot, text_bytes);
  if (auto done = fill_tables(pieces, snapshot, tables); !done) return done;
  if (auto done = read_stacks(behind, stack_lines, snapshot, tables.budget()); !done) return done;
  if (!tables.met_read_at()) snapshot.read_at.clear();
  if (snapshot.window && !tables.met_seen()) snapshot.window->seen.clear();
  return {};
}

Result<void> Reader::fill_tables(std::span<const Piece> pieces, Snapshot& snapshot,
                                 TableReader& tables) {
  struct Hand {
    Hand(Snapshot& snapshot, TableReader& tables) : worker(snapshot, tables) {}
    Unfolder unfolder;
    TableReader::Worker worker;
  };
  std::vector<std::optional<Hand>> hands(workers_);
  std::mutex failing;
  std::optional<std::pair<std::size_t, Error>> failure;  // the first line's that is wrong
  const auto read = [&](Hand& hand, std::size_t piece) -> Result<void> {
    const auto text = hand.unfolder.unfold(zstd_, frames_[next_ + piece]);
    if (!text) return text.error();
    auto done = tables.read(*text, pieces[piece], hand.worker);
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

Result<void> Reader::read_stacks(std::size_t first, std::size_t lines, Snapshot& snapshot,
                                 PoolBudget& budget) {
  StackReader stacks(snapshot, budget);
  for (std::size_t line = first; line < first + lines; ++line) {
    const auto text = unfolder_.unfold(zstd_, frames_[line]);
    if (!text) return text.error();
    if (auto done = stacks.read(*text); !done) return at_line(line, done.error());
  }
  auto done = stacks.finish();
  return done ? done : at_line(first + lines - 1, done.error());
}

// Kinds of lines that the header announces, and that stand where it says.
constexpr std::array<std::string_view, 5> kBeforeOthers{"header", "window", "table", "exited",
                                                        "stacks"};

// What stands behind the tables, to the block's end. False where the file ends before.
Result<bool> Reader::take_rest(Snapshot* snapshot) {
  bool has_summary = false;
  while (!at_end()) {
    const std::size_t number = next_;
    const auto found = line();
    if (!found) return found.error();
    const std::string kind = text_in(*found, "kind");
    Result<void> fine;
    if (kind == "end")
      fine = !has_summary ? Error{"ends a block without a summary"}
                          : check_end(*found, next_ - first_, text_until(number));
    else if (kind.empty() || has_summary || std::ranges::count(kBeforeOthers, kind) > 0)
      fine = Error{"is of kind '" + kind.substr(0, 40) + "' out of order"};
    else if (kind == "summary" && snapshot)
      fine = read_summary(*found, *snapshot);
    else if (kind != "summary" && kind != kOpeningLine && snapshot)
      snapshot->unknown_lines.push_back(object_of(*found));
    if (!fine) return at_line(number, fine.error());
    if (kind == "end") return true;
    has_summary = kind == "summary";
  }
  return false;
}

Result<bool> Reader::take(Snapshot* snapshot, bool with_rows) {
  first_ = next_;
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
  const auto pieces = plan(*header);
  if (!pieces) return pieces.error();
  if (pieces->size() > frames_.size() - next_) return false;
  const std::uint64_t stack_lines = stack_lines_of(*header);
  if (stack_lines > frames_.size() - next_ - pieces->size()) return false;
  std::vector<Piece> opening_only;
  if (snapshot) {
    if (auto done = read_header(*header, *snapshot); !done) return at_line(first_, done.error());
    if (window) {
      auto announced = read_window(*window, *snapshot);
      if (!announced) return at_line(first_ + 1, announced.error());
      opening_only = std::move(*announced);
    }
    if (with_rows)
      if (auto done = read_tables(*pieces, stack_lines, *snapshot); !done) return done.error();
    if (!with_rows) snapshot->rows_in_file = rows_of(*pieces);
  }
  next_ += pieces->size() + stack_lines;
  if (opening_only.size() > frames_.size() - next_) return false;
  if (with_rows && !opening_only.empty())
    if (auto done = read_opening_only(opening_only, *snapshot); !done) return done.error();
  const auto whole = take_rest(snapshot);
  if (!whole || !*whole || !snapshot) return whole;
  if (with_rows)
    if (auto fine = settle_rows(*snapshot); !fine) return fine.error();
  snapshot->text_bytes = text_until(next_);
  return true;
}

Error no_such_block(std::size_t number, std::size_t whole) {
  if (whole == 0) return {"it was cut: it has no end"};
  return {"it has no capture " + std::to_string(number) + ": it holds " + std::to_string(whole)};
}

// A thread's own, used again: making one costs as much as reading a small file's header.
ZSTD_DStream* stream_of_thread() {
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  thread_local const std::unique_ptr<ZSTD_DStream, Free> stream(ZSTD_createDStream());
  if (stream) ZSTD_DCtx_reset(stream.get(), ZSTD_reset_session_only);
  return stream.get();
}

}  // namespace

bool is_columns(std::string_view zstd) {
  std::array<char, 64> text{};
  ZSTD_DStream* const stream = stream_of_thread();
  ZSTD_inBuffer in{zstd.data(), zstd.size(), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  while (stream && out.pos < kBeginning.size() && in.pos < in.size)
    if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in))) break;
  return std::string_view(text.data(), out.pos).starts_with(kBeginning);
}

Result<Block> read_block(std::string_view zstd, std::size_t number, unsigned workers) {
  const auto frames = find_frames(zstd);
  if (!frames) return frames.error();
  Block block;
  Reader reader(zstd, frames->whole, workers);
  while (!reader.at_end() && !block.torn) {
    const auto taken = reader.take(block.whole + 1 == number ? &block.snapshot : nullptr);
    if (!taken && block.whole < number) return taken.error();
    if (!taken) {
      block.unread = taken.error().text;
      break;
    }
    block.torn = !*taken;
    block.whole += *taken ? 1 : 0;
  }
  block.torn = block.torn || frames->torn;
  if (number == 0 || number > block.whole) return no_such_block(number, block.whole);
  return block;
}

Result<Read> read_each(std::string_view zstd, unsigned workers,
                       const std::function<bool(Snapshot)>& take) {
  Frames frames;
  const auto sound = find_frames(zstd, frames);
  if (!sound && frames.whole.empty()) return sound.error();
  Read read{.torn = frames.torn, .unread = sound ? std::string() : sound.error().text};
  Reader reader(zstd, frames.whole, workers);
  while (!reader.at_end()) {
    Snapshot snapshot;
    const auto taken = reader.take(&snapshot);
    if (!taken && read.whole == 0) return taken.error();
    if (!taken) read.unread = taken.error().text;
    read.torn = read.torn || (taken && !*taken);
    if (!taken || !*taken) break;
    ++read.whole;
    if (!take(std::move(snapshot))) break;
  }
  if (read.whole == 0) return no_such_block(1, 0);
  return read;
}

Blocks list_blocks(std::string_view zstd) {
  Blocks found;
  Frames frames;
  if (auto sound = find_frames(zstd, frames); !sound) found.unread = sound.error().text;
  Reader reader(zstd, frames.whole, 1);
  const auto begin_of = [&](std::size_t frame) {
    return frame == frames.whole.size() ? frames.end : frames.whole[frame].at;
  };
  while (!reader.at_end()) {
    Snapshot outline;
    const auto taken = reader.take_outline(outline);
    if (!taken) found.unread = taken.error().text;
    found.torn = taken && !*taken && found.unread.empty();
    if (!taken || !*taken) return found;
    const Moment ended = outline.meta.start;
    const std::size_t end = begin_of(reader.next());
    found.whole.push_back({found.end, end - found.end, outline.window.has_value(),
                           outline.meta.boot_id, outline.window ? outline.window->opened : ended,
                           ended});
    found.end = end;
  }
  found.torn = frames.torn;
  return found;
}

Result<std::optional<Snapshot>> read_outline(std::string_view zstd) {
  const auto frames = find_frames(zstd);
  if (!frames) return frames.error();
  if (frames->whole.empty()) return std::nullopt;
  Reader reader(zstd, frames->whole, 1);
  Snapshot snapshot;
  const auto whole = reader.take_outline(snapshot);
  if (!whole) return whole.error();
  if (!*whole || !reader.at_end() || frames->torn || !snapshot.window) return std::nullopt;
  snapshot.window->seen.resize(1);
  return snapshot;
}

namespace {

Error not_a_run(std::size_t number, const std::string& cause) {
  return {"capture " + std::to_string(number) + " " + cause + "; FILE#N reads one of them"};
}

// Takes the blocks that are whole, until one is wrong.
Result<void> take_windows(Reader& reader, Windows& windows) {
  std::size_t memory = memory_of(windows.snapshots.front());
  while (!reader.at_end() && !windows.torn && windows.unread.empty()) {
    Snapshot next;
    const auto taken = reader.take(&next);
    if (!taken) windows.unread = taken.error().text;
    windows.torn = taken && !*taken;
    if (!taken || !*taken) continue;
    const std::size_t number = windows.snapshots.size() + 1;
    if (!next.window) return not_a_run(number, "is a snapshot among windows");
    memory += memory_of(next);
    if (memory > limits::kMemory)
      return not_a_run(number, "and those before it take too much memory");
    windows.snapshots.push_back(std::move(next));
  }
  return {};
}

}  // namespace

Result<Windows> read_windows(std::string_view zstd, Snapshot first, unsigned workers) {
  const auto frames = find_frames(zstd);
  if (!frames) return frames.error();
  Windows windows;
  windows.snapshots.push_back(std::move(first));
  Reader reader(zstd, frames->whole, workers);
  if (auto passed = reader.take(nullptr); !passed) return passed.error();
  if (auto taken = take_windows(reader, windows); !taken) return taken.error();
  windows.torn = windows.torn || frames->torn;
  return windows;
}

}  // namespace ctprof::columns
