// A file in columns is lines of JSON, each a zstd frame of its own that says how long its text is
// and carries a checksum. So a reader knows where every line is before it unfolds one: it can work
// in parallel, pass over what it does not need, and see a file that was cut.

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

// Makes frames, one after the other, on one thread.
class Folder {
 public:
  explicit Folder(int level);
  // The frame that holds the text. Throws bad_alloc.
  std::string fold(std::string_view text);
  // The same in half the time for some twentieth more bytes: for a header, which nothing else can
  // be made beside for long.
  std::string fold_fast(std::string_view text);

 private:
  std::string fold(std::string_view text, int level);

  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  int level_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::unique_ptr<char[]> frame_;  // used again: the system gives new memory page by page
  std::size_t room_ = 0;
};

// Bytes that every zstd reader passes over, so many that a file of `file_bytes` with them may
// unfold to `text_bytes` (limits.hpp); empty where no more are needed.
std::string padding(std::uint64_t text_bytes, std::uint64_t file_bytes);
// The same for a block of a file of several, so that all together may unfold to all their texts.
std::string padding_among_others(std::uint64_t text_bytes, std::uint64_t block_bytes);

// Where one frame is, and how long its text says it is.
struct Frame {
  std::size_t at = 0;
  std::size_t size = 0;
  std::size_t text_bytes = 0;
};

struct Frames {
  std::vector<Frame> whole;
  bool torn = false;    // the data goes on behind them, with the beginning of one
  std::size_t end = 0;  // of those, and of what is to be passed over among them
};

// The frames that the data consists of, but for those to be passed over. The error says what is no
// frame of a line, or that they would unfold to more than a file of this size may.
Result<Frames> find_frames(std::string_view zstd);
// The same; `found` has those before the place that the error is about.
Result<void> find_frames(std::string_view zstd, Frames& found);

// Unfolds frames, one after the other, on one thread.
class Unfolder {
 public:
  Unfolder();
  // The frame's text, which lives until the next call. Fails where the data is damaged or is not as
  // long as the frame says. Throws bad_alloc.
  Result<std::string_view> unfold(std::string_view zstd, const Frame& frame);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::unique_ptr<char[]> text_;
  std::size_t room_ = 0;
};

}  // namespace ctprof::columns
