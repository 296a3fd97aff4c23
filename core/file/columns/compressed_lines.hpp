// The lines of a columns file: each line of JSON is a zstd frame with the length of its text and
// a checksum. A reader finds all lines before it decompresses any. It can therefore work in
// parallel, skip lines, and detect a truncated file.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace ctprof::columns {

// Compresses lines into frames. Threads: one.
class FrameCompressor {
 public:
  explicit FrameCompressor(int level);
  // Returns a frame that contains the text. Throws bad_alloc.
  std::string compress(std::string_view text);
  // Like compress(), in half the time and with about 5 % more bytes. For a header, because little
  // other work can run in parallel with it.
  std::string compress_fast(std::string_view text);

 private:
  std::string compress(std::string_view text, int level);

  struct ContextDeleter {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  int level_;
  std::unique_ptr<ZSTD_CCtx_s, ContextDeleter> context_;
  std::unique_ptr<char[]> frame_;  // reused: new memory causes page faults
  std::size_t capacity_ = 0;
};

// Returns a skippable frame, which zstd readers ignore. It is long enough that a file of
// `file_bytes` plus this frame may contain `text_bytes` of text (limits.hpp). Empty if no padding
// is needed.
std::string make_padding(std::uint64_t text_bytes, std::uint64_t file_bytes);
// Like make_padding(), for one of several blocks, so that all blocks together stay within the
// limit.
std::string make_padding_for_block(std::uint64_t text_bytes, std::uint64_t block_bytes);

// The position of a frame, and the length of its text according to the frame.
struct Frame {
  std::size_t offset = 0;
  std::size_t size = 0;
  std::size_t text_bytes = 0;
};

// The frames of a file.
struct Frames {
  std::vector<Frame> complete;
  bool is_truncated = false;  // an incomplete frame follows
  std::size_t end = 0;        // end of the last complete frame, including skippable frames
};

// Finds all frames of the data except skippable ones. The error describes data that is not a frame
// of a line, or a text that is too long for a file of this size.
Result<Frames> find_frames(std::string_view zstd);
// Like find_frames(zstd); after an error, `found` has the frames before the error.
Result<void> find_frames(std::string_view zstd, Frames& found);

// Decompresses frames. Threads: one.
class FrameDecompressor {
 public:
  FrameDecompressor();
  // Returns the frame's text, which is valid until the next call. Fails if the data is damaged or
  // its length differs from that in the frame. Throws bad_alloc.
  Result<std::string_view> decompress(std::string_view zstd, const Frame& frame);

 private:
  struct ContextDeleter {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, ContextDeleter> context_;
  std::unique_ptr<char[]> text_;
  std::size_t capacity_ = 0;
};

}  // namespace ctprof::columns
