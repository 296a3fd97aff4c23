// Text of a file, from memory or from zstd data that a second thread decompresses while the first
// one parses. If no second thread can be started (RLIMIT_NPROC, a seccomp filter), one thread does
// both in turn, with the same result.
//
// Contents: the sources of text, and the limit on its size after decompression.
//
// See also: rows_reader.hpp, which parses the text.

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/json_scanner.hpp"
#include "core/base/result.hpp"

struct ZSTD_DCtx_s;

namespace ctprof {

// Text in memory. REQUIRES: the text outlives it.
class PlainText final : public TextSource {
 public:
  PlainText(std::string_view text, std::size_t slice_bytes)
      : remaining_(text), slice_bytes_(slice_bytes) {}
  Result<std::string_view> next() override;

 private:
  std::string_view remaining_;
  std::size_t slice_bytes_;
};

// Decompresses zstd data slice by slice, in the calling thread. REQUIRES: the data outlives it.
class StreamDecompressor {
 public:
  explicit StreamDecompressor(std::string_view zstd);
  // Fills `text` with the next slice; leaves it empty at the end. An error contains only the
  // reason. May throw bad_alloc.
  Result<void> next(std::string& text);

 private:
  struct ContextDeleter {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  Result<void> decompress_slice(std::string& text, std::size_t& size);

  std::unique_ptr<ZSTD_DCtx_s, ContextDeleter> context_;
  std::string_view zstd_;
  std::size_t at_ = 0;              // position in the data
  std::size_t total_ = 0;           // bytes of text so far
  std::size_t expected_bytes_ = 0;  // bytes that zstd still expects; 0 at the end of a frame
  bool may_have_more_text_ = true;  // zstd may have more text for which the last slice had no space
};

// Text that a second thread decompresses. REQUIRES: the data outlives it.
class DecompressedText final : public TextSource {
 public:
  explicit DecompressedText(std::string_view zstd);
  DecompressedText(const DecompressedText&) = delete;
  DecompressedText& operator=(const DecompressedText&) = delete;
  ~DecompressedText() override;
  Result<std::string_view> next() override;

 private:
  static constexpr std::size_t kSlices = 8;

  void start();
  void run_thread();
  Result<void> decompress_all();
  // Waits for a free slice. Returns null if the reader was destroyed.
  std::string* wait_for_free_slice();
  void publish_slice();

  StreamDecompressor decompressor_;
  std::array<std::string, kSlices> slices_;
  std::mutex mutex_;
  std::condition_variable state_changed_;
  std::size_t filled_ = 0;        // number of slices filled so far
  std::size_t consumed_ = 0;      // number of slices that the parser has finished
  bool is_slice_in_use_ = false;  // the parser uses the slice after those
  bool is_finished_ = false;
  bool is_cancelled_ = false;
  Error error_;                   // valid when finished
  std::exception_ptr exception_;  // valid when finished
  std::thread thread_;            // not joinable: next() decompresses in its caller's thread
};

}  // namespace ctprof
