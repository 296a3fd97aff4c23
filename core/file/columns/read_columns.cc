#include "core/file/columns/read_columns.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/file/columns/allowance.hpp"
#include "core/file/columns/block_reader.hpp"
#include "core/file/columns/header.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

Error no_such_block(std::size_t number, std::size_t whole) {
  if (whole == 0) return {"it was cut: it has no end"};
  return {"it has no capture " + std::to_string(number) + ": it holds " + std::to_string(whole)};
}

// Returns a decompressor that the calling thread reuses: creating one takes as long as reading the
// header of a small file.
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
  BlockReader reader(zstd, frames->whole, workers);
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
  BlockReader reader(zstd, frames.whole, workers);
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
  BlockReader reader(zstd, frames.whole, 1);
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
  BlockReader reader(zstd, frames->whole, 1);
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

// Reads complete blocks until one is invalid.
Result<void> take_windows(BlockReader& reader, Windows& windows) {
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
  BlockReader reader(zstd, frames->whole, workers);
  if (auto passed = reader.take(nullptr); !passed) return passed.error();
  if (auto taken = take_windows(reader, windows); !taken) return taken.error();
  windows.torn = windows.torn || frames->torn;
  return windows;
}

}  // namespace ctprof::columns
