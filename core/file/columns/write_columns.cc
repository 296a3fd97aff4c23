#include "core/file/columns/write_columns.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/workers.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

// Rows per line. A line then has about half of its maximum length, and a snapshot has enough lines
// to share among workers.
constexpr std::size_t kRowsAtOnce = 1024;
// Below this number of rows, writing takes less time than starting another thread.
constexpr std::size_t kRowsToShare = 32;

// The compressed lines of one table slice: one line, or more if it was too long.
struct Made {
  std::vector<Piece> pieces;
  std::vector<std::string> frames;
  std::uint64_t text_bytes = 0;
};

// The buffers of one worker.
struct Hand {
  explicit Hand(int level) : folder(level) { out.expect(limits::kMiB); }
  Folder folder;
  JsonWriter out;
};

std::vector<Piece> pieces_of(const Snapshot& snapshot) {
  std::vector<Piece> pieces;
  const auto add = [&](Entity entity, std::size_t first, std::size_t end, bool ended) {
    for (; first < end; first += kRowsAtOnce)
      pieces.push_back({entity, first, std::min(kRowsAtOnce, end - first), ended});
  };
  const std::size_t threads = snapshot.threads().rows;
  const std::size_t living = snapshot.window ? snapshot.window->living : threads;
  for (const Entity entity : kAllEntities)
    add(entity, 0, entity == Entity::Thread ? living : snapshot.table(entity).rows, false);
  add(Entity::Thread, living, threads, true);
  return pieces;
}

void make(const TableWriter& writer, const Piece& piece, Hand& hand, Made& made) {
  hand.out.clear();
  writer.write(piece, hand.out);
  if (hand.out.size() > limits::kMiB && piece.rows > 1) {
    Piece first = piece, second = piece;
    first.rows = piece.rows / 2;
    second.rows -= first.rows;
    second.first_row += first.rows;
    make(writer, first, hand, made);
    return make(writer, second, hand, made);
  }
  made.pieces.push_back(piece);
  made.frames.push_back(hand.folder.fold(hand.out.view()));
  made.text_bytes += hand.out.size();
}

// The states of all workers, created on first use. A compressor allocates about a megabyte at its
// first frame, so later work that runs on one thread reuses an existing state.
class Hands {
 public:
  Hands(int level, unsigned workers) : level_(level), hands_(std::max(workers, 1u)) {}

  Hand& of(unsigned worker) {
    if (!hands_[worker]) hands_[worker].emplace(level_);
    return *hands_[worker];
  }
  Hand& any() {
    const auto used = std::ranges::find_if(hands_, [](const auto& hand) { return !!hand; });
    return of(used == hands_.end() ? 0 : static_cast<unsigned>(used - hands_.begin()));
  }

 private:
  int level_;
  std::vector<std::optional<Hand>> hands_;
};

// The compressed lines of a block, except its short lines.
struct MadeBlock {
  Made header;
  std::vector<Made> tables;  // by table slice
  Made stacks;
  Made opening_only;  // rows that only the opening of a window has
};

Made make_header(const Snapshot& snapshot, std::span<const Piece> tables, const Made& stacks,
                 Hand& hand) {
  hand.out.clear();
  write_header(snapshot, tables, stacks.frames.size(), hand.out);
  return {.pieces = {},
          .frames = {hand.folder.fold_fast(hand.out.view())},
          .text_bytes = hand.out.size()};
}

// Writes the lines of stacks, on one worker because their items are numbered consecutively.
Made make_stacks(const Snapshot& snapshot, Hand& hand) {
  hand.out.clear();
  Made made;
  write_stacks(snapshot, hand.out, [&](std::string_view line) {
    made.frames.push_back(hand.folder.fold(line));
    made.text_bytes += line.size();
  });
  return made;
}

// Writes the lines of rows that only the opening of a window has.
Made make_opening_only(const Snapshot& opening_only, Hand& hand) {
  const TableWriter writer(opening_only);
  Made made;
  for (Piece piece : pieces_of(opening_only)) {
    piece.opening_only = true;
    make(writer, piece, hand, made);
  }
  return made;
}

// Returns the rows of each table line.
std::vector<Piece> lines_of(const MadeBlock& block) {
  std::vector<Piece> lines;
  for (const Made& table : block.tables)
    lines.insert(lines.end(), table.pieces.begin(), table.pieces.end());
  return lines;
}

std::size_t rows_in(std::span<const Piece> pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t rows, const Piece& piece) { return rows + piece.rows; });
}

// Writes the long header in parallel with the tables, on the assumption that each slice becomes one
// line. Writes it again if a slice needed several lines.
MadeBlock make_block(const Snapshot& snapshot, unsigned workers, Hands& hands) {
  const std::vector<Piece> pieces = pieces_of(snapshot);
  const TableWriter writer(snapshot);
  MadeBlock block{{}, std::vector<Made>(pieces.size()), {}, {}};
  if (rows_in(pieces) < kRowsToShare) workers = 1;
  share(workers, 1 + pieces.size(), [&](unsigned worker, std::size_t i) {
    Hand& hand = hands.of(worker);
    if (i > 0) return make(writer, pieces[i - 1], hand, block.tables[i - 1]);
    block.stacks = make_stacks(snapshot, hand);
    if (snapshot.window && snapshot.window->opening_only)
      block.opening_only = make_opening_only(*snapshot.window->opening_only, hand);
    block.header = make_header(snapshot, pieces, block.stacks, hand);
  });
  if (const auto lines = lines_of(block); lines.size() > pieces.size())
    block.header = make_header(snapshot, lines, block.stacks, hands.any());
  return block;
}

// Writes lines to the output, and counts lines and bytes.
class Lines {
 public:
  // REQUIRES: both outlive this object.
  Lines(Sink& out, Folder& folder) : out_(&out), folder_(&folder) {}

  Result<void> write(std::string_view text) {
    return write_frame(folder_->fold(text), text.size(), 1);
  }
  Result<void> write(const Made& made) {
    text_bytes_ += made.text_bytes;
    lines_ += made.frames.size();
    for (const std::string& frame : made.frames)
      if (auto done = put(frame); !done) return done;
    return {};
  }
  // Writes padding, which readers skip.
  Result<void> pad(Stands stands) {
    const std::string padding = stands == Stands::Alone ? columns::padding(text_bytes_, bytes_)
                                                        : padding_among_others(text_bytes_, bytes_);
    return padding.empty() ? Result<void>() : put(padding);
  }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  Result<void> write_frame(const std::string& frame, std::size_t text_bytes, std::size_t lines) {
    text_bytes_ += text_bytes;
    lines_ += lines;
    return put(frame);
  }
  Result<void> put(std::string_view bytes) {
    bytes_ += bytes.size();
    return out_->write(bytes);
  }

  Sink* out_;
  Folder* folder_;
  std::uint64_t lines_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t bytes_ = 0;  // compressed
};

Result<void> write_unknown(std::span<const UnknownRows> unknown, Lines& lines) {
  for (const UnknownRows& table : unknown)
    for (const RawJson& line : table.lines)
      if (auto done = lines.write(line + "\n"); !done) return done;
  return {};
}

// Writes the tables: rows of unknown entities precede those of exited threads.
Result<void> write_tables(const Snapshot& snapshot, std::span<const Made> tables, Lines& lines) {
  const auto ended =
      std::ranges::find_if(tables, [](const Made& table) { return table.pieces.front().ended; });
  for (const Made& table : std::span(tables.begin(), ended))
    if (auto done = lines.write(table); !done) return done;
  if (auto done = write_unknown(snapshot.unknown_tables, lines); !done) return done;
  for (const Made& table : std::span(ended, tables.end()))
    if (auto done = lines.write(table); !done) return done;
  return {};
}

Result<void> write_lines(const Snapshot& snapshot, const MadeBlock& block, Lines& lines) {
  if (auto done = lines.write(block.header); !done) return done;
  JsonWriter out;
  if (snapshot.window) {
    write_window(snapshot, block.opening_only.pieces, out);
    if (auto done = lines.write(out.view()); !done) return done;
  }
  if (auto done = write_tables(snapshot, block.tables, lines); !done) return done;
  if (auto done = lines.write(block.stacks); !done) return done;
  if (auto done = lines.write(block.opening_only); !done) return done;
  if (snapshot.window && snapshot.window->opening_only)
    if (auto done = write_unknown(snapshot.window->unknown_opening_only, lines); !done) return done;
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

Result<std::uint64_t> write_block(const Snapshot& snapshot, Sink& out, int level, unsigned workers,
                                  Stands stands) {
  Hands hands(level, workers);
  const MadeBlock block = make_block(snapshot, workers, hands);
  Lines lines(out, hands.any().folder);
  if (auto done = write_lines(snapshot, block, lines); !done) return done.error();
  if (auto done = lines.pad(stands); !done) return done.error();
  return lines.text_bytes();
}

}  // namespace ctprof::columns
