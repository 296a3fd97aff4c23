#include "core/file/columns/read_columns.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/thread_pointer.hpp"
#include "core/file/columns/block_reader.hpp"
#include "core/file/columns/compressed_lines.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/memory_limit.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

Error no_such_block(std::size_t number, std::size_t whole) {
  if (whole == 0) return {"it is truncated, because its end is missing"};
  return {"it has no capture " + std::to_string(number) + "; its last capture is " +
          std::to_string(whole)};
}

// Returns a decompressor that the calling thread reuses: creating one takes as long as reading the
// header of a small file. Throws if there is no memory for it.
ZSTD_DStream* thread_stream() {
  static const ThreadPointer<ZSTD_DStream, &ZSTD_freeDStream> streams;
  ZSTD_DStream* stream = streams.get();
  if (!stream) {
    stream = ZSTD_createDStream();
    if (!stream) throw std::bad_alloc();
    if (!streams.set(stream)) {
      ZSTD_freeDStream(stream);
      throw std::bad_alloc();
    }
  }
  ZSTD_DCtx_reset(stream, ZSTD_reset_session_only);
  return stream;
}

}  // namespace

bool is_columns(std::string_view zstd) {
  std::array<char, 64> text{};
  ZSTD_DStream* const stream = thread_stream();
  ZSTD_inBuffer in{zstd.data(), zstd.size(), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  while (out.pos < kFilePrefix.size() && in.pos < in.size)
    if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in))) break;
  return std::string_view(text.data(), out.pos).starts_with(kFilePrefix);
}

Result<Block> read_block(std::string_view zstd, std::size_t number, unsigned workers) {
  CTPROF_TRY_VALUE(const auto frames, find_frames(zstd));
  Block block;
  BlockReader reader(zstd, frames.complete, workers);
  while (!reader.at_end() && !block.is_truncated) {
    const auto taken =
        reader.read_next(block.complete_blocks + 1 == number ? &block.snapshot : nullptr);
    if (!taken && block.complete_blocks < number) return taken.error();
    if (!taken) {
      block.invalid_reason = taken.error().text;
      break;
    }
    block.is_truncated = !*taken;
    block.complete_blocks += *taken ? 1 : 0;
  }
  block.is_truncated = block.is_truncated || frames.is_truncated;
  if (number == 0 || number > block.complete_blocks)
    return no_such_block(number, block.complete_blocks);
  return block;
}

Result<ReadResult> read_all_blocks(std::string_view zstd, unsigned workers,
                                   const std::function<bool(Snapshot)>& consume) {
  Frames frames;
  const auto valid = find_frames(zstd, frames);
  if (!valid && frames.complete.empty()) return valid.error();
  ReadResult read{.is_truncated = frames.is_truncated,
                  .invalid_reason = valid ? std::string() : valid.error().text};
  BlockReader reader(zstd, frames.complete, workers);
  while (!reader.at_end()) {
    Snapshot snapshot;
    const auto taken = reader.read_next(&snapshot);
    if (!taken && read.complete_blocks == 0) return taken.error();
    if (!taken) read.invalid_reason = taken.error().text;
    read.is_truncated = read.is_truncated || (taken && !*taken);
    if (!taken || !*taken) break;
    ++read.complete_blocks;
    if (!consume(std::move(snapshot))) break;
  }
  if (read.complete_blocks == 0) return no_such_block(1, 0);
  return read;
}

BlockList list_blocks(std::string_view zstd) {
  BlockList found;
  Frames frames;
  if (auto valid = find_frames(zstd, frames); !valid) found.invalid_reason = valid.error().text;
  BlockReader reader(zstd, frames.complete, 1);
  const auto frame_offset = [&](std::size_t frame) {
    return frame == frames.complete.size() ? frames.end : frames.complete[frame].offset;
  };
  while (!reader.at_end()) {
    Snapshot outline;
    const auto taken = reader.read_next_outline(outline);
    if (!taken) found.invalid_reason = taken.error().text;
    found.is_truncated = taken && !*taken && found.invalid_reason.empty();
    if (!taken || !*taken) return found;
    const Timestamp ended_at = outline.meta.start;
    const std::size_t end = frame_offset(reader.next_frame());
    found.blocks.push_back({found.end, end - found.end, outline.window.has_value(),
                            outline.meta.boot_id,
                            outline.window ? outline.window->opened_at : ended_at, ended_at});
    found.end = end;
  }
  found.is_truncated = frames.is_truncated;
  return found;
}

Result<std::optional<Snapshot>> read_outline(std::string_view zstd) {
  CTPROF_TRY_VALUE(const auto frames, find_frames(zstd));
  if (frames.complete.empty()) return std::nullopt;
  BlockReader reader(zstd, frames.complete, 1);
  Snapshot snapshot;
  CTPROF_TRY_VALUE(const auto whole, reader.read_next_outline(snapshot));
  if (!whole || !reader.at_end() || frames.is_truncated || !snapshot.window) return std::nullopt;
  snapshot.window->seen_times.resize(1);
  return snapshot;
}

namespace {

Error window_error(std::size_t number, const std::string& cause) {
  return {"capture " + std::to_string(number) + " " + cause + "; name a single capture as FILE#N"};
}

// Reads complete blocks until one is invalid.
Result<void> read_remaining_windows(BlockReader& reader, Windows& windows) {
  std::size_t memory = estimate_memory(windows.snapshots.front());
  while (!reader.at_end() && !windows.is_truncated && windows.invalid_reason.empty()) {
    Snapshot next;
    const auto taken = reader.read_next(&next);
    if (!taken) windows.invalid_reason = taken.error().text;
    windows.is_truncated = taken && !*taken;
    if (!taken || !*taken) continue;
    const std::size_t number = windows.snapshots.size() + 1;
    if (!next.window) return window_error(number, "is a snapshot among windows");
    memory += estimate_memory(next);
    if (memory > limits::kMemory)
      return window_error(number, "and the captures before it take too much memory");
    windows.snapshots.push_back(std::move(next));
  }
  return {};
}

}  // namespace

Result<Windows> read_windows(std::string_view zstd, Snapshot first, unsigned workers) {
  CTPROF_TRY_VALUE(const auto frames, find_frames(zstd));
  Windows windows;
  windows.snapshots.push_back(std::move(first));
  BlockReader reader(zstd, frames.complete, workers);
  CTPROF_TRY(reader.read_next(nullptr));
  CTPROF_TRY(read_remaining_windows(reader, windows));
  windows.is_truncated = windows.is_truncated || frames.is_truncated;
  return windows;
}

}  // namespace ctprof::columns
