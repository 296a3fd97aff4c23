#include "core/file/columns/write_columns.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/workers.hpp"
#include "core/file/columns/compressed_lines.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/stack_lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/layout/limits.hpp"
#include "core/snapshot/file_extras.hpp"

namespace ctprof::columns {
namespace {

// Rows per line. A line then has about half of its maximum length, and a snapshot has enough lines
// to share among workers.
constexpr std::size_t kRowsPerLine = 1024;
// Below this number of rows, writing takes less time than starting another thread.
constexpr std::size_t kMinRowsToShare = 32;

// The compressed lines of one table slice: one line, or more if it was too long.
struct CompressedLines {
  std::vector<TableSlice> pieces;
  std::vector<std::string> frames;
  std::uint64_t text_bytes = 0;
};

// The buffers of one worker.
struct WorkerBuffers {
  explicit WorkerBuffers(int level) : compressor(level) { out.set_capacity(limits::kMiB); }
  FrameCompressor compressor;
  JsonWriter out;
};

std::vector<TableSlice> slice_tables(const Snapshot& snapshot) {
  std::vector<TableSlice> pieces;
  const auto add = [&](Entity entity, std::size_t first, std::size_t end, bool is_exited) {
    for (; first < end; first += kRowsPerLine)
      pieces.push_back({entity, first, std::min(kRowsPerLine, end - first), is_exited});
  };
  const std::size_t threads = snapshot.threads().rows;
  const std::size_t living = snapshot.window ? snapshot.window->living_threads : threads;
  for (const Entity entity : kAllEntities)
    add(entity, 0, entity == Entity::Thread ? living : snapshot.table(entity).rows, false);
  add(Entity::Thread, living, threads, true);
  return pieces;
}

void compress_slice(const TableWriter& writer, const TableSlice& piece, WorkerBuffers& buffers,
                    CompressedLines& made) {
  buffers.out.clear();
  writer.write(piece, buffers.out);
  if (buffers.out.size() > limits::kMiB && piece.rows > 1) {
    TableSlice first = piece, second = piece;
    first.rows = piece.rows / 2;
    second.rows -= first.rows;
    second.first_row += first.rows;
    compress_slice(writer, first, buffers, made);
    return compress_slice(writer, second, buffers, made);
  }
  made.pieces.push_back(piece);
  made.frames.push_back(buffers.compressor.compress(buffers.out.view()));
  made.text_bytes += buffers.out.size();
}

// The states of all workers, created on first use. A compressor allocates about a megabyte at its
// first frame, so later work that runs on one thread reuses an existing state.
class WorkerBufferSet {
 public:
  WorkerBufferSet(int level, unsigned workers) : level_(level), buffers_(std::max(workers, 1u)) {}

  WorkerBuffers& for_worker(unsigned worker) {
    if (!buffers_[worker]) buffers_[worker].emplace(level_);
    return *buffers_[worker];
  }
  WorkerBuffers& any_allocated() {
    const auto used = std::ranges::find_if(buffers_, [](const auto& buffers) { return !!buffers; });
    return for_worker(used == buffers_.end() ? 0 : static_cast<unsigned>(used - buffers_.begin()));
  }

 private:
  int level_;
  std::vector<std::optional<WorkerBuffers>> buffers_;
};

// The compressed lines of a block, except its short lines.
struct CompressedBlock {
  CompressedLines header;
  std::vector<CompressedLines> tables;  // by table slice
  CompressedLines stacks;
  CompressedLines opening_only;  // rows that only the opening of a window has
};

CompressedLines compress_header(const Snapshot& snapshot, std::span<const TableSlice> tables,
                                const CompressedLines& stacks, WorkerBuffers& buffers) {
  buffers.out.clear();
  write_header(snapshot, tables, stacks.frames.size(), buffers.out);
  return {.pieces = {},
          .frames = {buffers.compressor.compress_fast(buffers.out.view())},
          .text_bytes = buffers.out.size()};
}

// Writes the lines of stacks, on one worker because their items are numbered consecutively.
CompressedLines compress_stacks(const Snapshot& snapshot, WorkerBuffers& buffers) {
  buffers.out.clear();
  CompressedLines made;
  write_stacks(snapshot, buffers.out, [&](std::string_view line) {
    made.frames.push_back(buffers.compressor.compress(line));
    made.text_bytes += line.size();
  });
  return made;
}

// Writes the lines of rows that only the opening of a window has.
CompressedLines compress_opening_only(const Snapshot& opening_only, WorkerBuffers& buffers) {
  const TableWriter writer(opening_only);
  CompressedLines made;
  for (TableSlice piece : slice_tables(opening_only)) {
    piece.is_opening_only = true;
    compress_slice(writer, piece, buffers, made);
  }
  return made;
}

// Returns the rows of each table line.
std::vector<TableSlice> slices_of(const CompressedBlock& block) {
  std::vector<TableSlice> lines;
  for (const CompressedLines& table : block.tables)
    lines.insert(lines.end(), table.pieces.begin(), table.pieces.end());
  return lines;
}

std::size_t rows_in(std::span<const TableSlice> pieces) {
  return std::accumulate(
      pieces.begin(), pieces.end(), std::size_t{0},
      [](std::size_t rows, const TableSlice& piece) { return rows + piece.rows; });
}

// Writes the long header in parallel with the tables, on the assumption that each slice becomes one
// line. Writes it again if a slice needed several lines.
CompressedBlock compress_block(const Snapshot& snapshot, unsigned workers,
                               WorkerBufferSet& buffer_set) {
  const std::vector<TableSlice> pieces = slice_tables(snapshot);
  const TableWriter writer(snapshot);
  CompressedBlock block{{}, std::vector<CompressedLines>(pieces.size()), {}, {}};
  if (rows_in(pieces) < kMinRowsToShare) workers = 1;
  share_work(workers, 1 + pieces.size(), [&](unsigned worker, std::size_t i) {
    WorkerBuffers& buffers = buffer_set.for_worker(worker);
    if (i > 0) return compress_slice(writer, pieces[i - 1], buffers, block.tables[i - 1]);
    block.stacks = compress_stacks(snapshot, buffers);
    if (snapshot.window && snapshot.window->opening_only)
      block.opening_only = compress_opening_only(*snapshot.window->opening_only, buffers);
    block.header = compress_header(snapshot, pieces, block.stacks, buffers);
  });
  if (const auto lines = slices_of(block); lines.size() > pieces.size())
    block.header = compress_header(snapshot, lines, block.stacks, buffer_set.any_allocated());
  return block;
}

// Writes lines to the output, and counts lines and bytes.
class LineWriter {
 public:
  // REQUIRES: both outlive this object.
  LineWriter(Sink& out, FrameCompressor& compressor) : out_(&out), compressor_(&compressor) {}

  Result<void> write(std::string_view text) {
    return write_frame(compressor_->compress(text), text.size(), 1);
  }
  Result<void> write(const CompressedLines& made) {
    text_bytes_ += made.text_bytes;
    lines_ += made.frames.size();
    for (const std::string& frame : made.frames) CTPROF_TRY(put(frame));
    return {};
  }
  // Writes padding, which readers skip.
  Result<void> write_padding(BlockPlacement placement) {
    const std::string padding = placement == BlockPlacement::OnlyBlock
                                    ? columns::make_padding(text_bytes_, bytes_)
                                    : make_padding_for_block(text_bytes_, bytes_);
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
  FrameCompressor* compressor_;
  std::uint64_t lines_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t bytes_ = 0;  // compressed
};

Result<void> write_unknown(std::span<const UnknownRows> unknown, LineWriter& lines) {
  for (const UnknownRows& table : unknown)
    for (const RawJson& line : table.lines) CTPROF_TRY(lines.write(line + "\n"));
  return {};
}

// Writes the tables: rows of unknown entities precede those of exited threads.
Result<void> write_tables(const Snapshot& snapshot, std::span<const CompressedLines> tables,
                          LineWriter& lines) {
  const auto first_exited = std::ranges::find_if(
      tables, [](const CompressedLines& table) { return table.pieces.front().is_exited; });
  for (const CompressedLines& table : std::span(tables.begin(), first_exited))
    CTPROF_TRY(lines.write(table));
  CTPROF_TRY(write_unknown(snapshot.extras->unknown_tables, lines));
  for (const CompressedLines& table : std::span(first_exited, tables.end()))
    CTPROF_TRY(lines.write(table));
  return {};
}

Result<void> write_lines(const Snapshot& snapshot, const CompressedBlock& block,
                         LineWriter& lines) {
  CTPROF_TRY(lines.write(block.header));
  JsonWriter out;
  if (snapshot.window) {
    write_window(snapshot, block.opening_only.pieces, out);
    CTPROF_TRY(lines.write(out.view()));
  }
  CTPROF_TRY(write_tables(snapshot, block.tables, lines));
  CTPROF_TRY(lines.write(block.stacks));
  CTPROF_TRY(lines.write(block.opening_only));
  if (snapshot.window && snapshot.window->opening_only)
    CTPROF_TRY(write_unknown(snapshot.extras->unknown_opening_only, lines));
  for (const RawJson& line : snapshot.extras->unknown_lines) CTPROF_TRY(lines.write(line + "\n"));
  out.clear();
  write_summary(snapshot, out);
  CTPROF_TRY(lines.write(out.view()));
  out.clear();
  write_end(lines.lines() + 1, lines.text_bytes(), out);
  return lines.write(out.view());
}

}  // namespace

Result<std::uint64_t> write_block(const Snapshot& snapshot, Sink& out, int level, unsigned workers,
                                  BlockPlacement placement) {
  WorkerBufferSet buffer_set(level, workers);
  const CompressedBlock block = compress_block(snapshot, workers, buffer_set);
  LineWriter lines(out, buffer_set.any_allocated().compressor);
  CTPROF_TRY(write_lines(snapshot, block, lines));
  CTPROF_TRY(lines.write_padding(placement));
  return lines.text_bytes();
}

}  // namespace ctprof::columns
