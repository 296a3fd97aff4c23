// Reads the blocks of a columns file, one after the other.
//
// Guarantees:
//   - Rows of unknown entities and lines of unknown kinds are kept in `FileExtras` (unknown_tables,
//     unknown_lines). They take at most limits::kKeptText per block.
//   - Lines of unknown kinds may be anywhere after the header. A file without such lines is read
//     once; otherwise the block is read a second time without them.
//
// Threads: one caller at a time; the reader starts its own workers.
//
// See also: header.hpp (the lines), table_line.hpp (rows), read_columns.hpp (whole files).

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/file/columns/compressed_lines.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

class BlockReader {
 public:
  // REQUIRES: the data and the frames outlive it.
  BlockReader(std::string_view zstd, std::span<const Frame> frames, unsigned workers)
      : zstd_(zstd), frames_(frames), workers_(std::max(workers, 1u)), lines_(frames.size()) {
    std::iota(lines_.begin(), lines_.end(), std::size_t{0});
  }

  bool at_end() const { return next_ == lines_.size(); }
  // Returns the index of the frame after the last one that was read.
  std::size_t next_frame() const { return frame_of(next_); }
  // Reads the next block into `snapshot`, or skips it if `snapshot` is null. Returns false if the
  // file ends before the block does.
  Result<bool> read_next(Snapshot* snapshot) { return read_next(snapshot, true); }
  // Like read_next(), but reads only the column definitions, no rows.
  Result<bool> read_next_outline(Snapshot& snapshot) { return read_next(&snapshot, false); }

 private:
  using Parse = Result<KeptMembers> (*)(std::string_view text);
  Result<bool> read_next(Snapshot* snapshot, bool with_rows);
  Result<bool> read_block_lines(Snapshot* snapshot, bool with_rows);
  bool set_aside_unknown_lines(std::vector<RawJson>& kept);
  Result<KeptMembers> parse_next_line(Parse parse = parse_line);
  Result<AnnouncedLines> read_announced(const KeptMembers& header) const;
  Result<void> check_lengths(std::span<const TableSlice> pieces) const;
  Result<void> read_opening_only(std::span<const TableSlice> pieces, Snapshot& snapshot);
  Result<void> read_tables(std::span<const TableSlice> pieces, std::size_t stack_lines,
                           Snapshot& snapshot);
  Result<void> fill_tables(std::span<const TableSlice> pieces, Snapshot& snapshot,
                           std::span<UnknownRows> unknown, TableReader& tables);
  Result<void> read_stacks(std::size_t first, std::size_t lines, Snapshot& snapshot,
                           PoolBudget& budget);
  Result<bool> read_rest(Snapshot* snapshot);
  Result<void> keep_text(std::string_view text, RawJson& kept);
  Error error_at_line(std::size_t line, const Error& what) const;
  std::size_t text_bytes_before(std::size_t line) const;
  std::size_t frame_of(std::size_t line) const {
    return line == lines_.size() ? frames_.size() : lines_[line];
  }
  const Frame& frame(std::size_t line) const { return frames_[lines_[line]]; }

  std::string_view zstd_;
  std::span<const Frame> frames_;
  unsigned workers_;
  FrameDecompressor decompressor_;
  std::vector<std::size_t> lines_;          // indexes of frames, without those set aside
  std::size_t next_ = 0;                    // index into lines_
  std::size_t first_ = 0;                   // index into lines_ of the block's first line
  std::atomic<std::size_t> kept_bytes_{0};  // text kept from the current block
};

}  // namespace ctprof::columns
