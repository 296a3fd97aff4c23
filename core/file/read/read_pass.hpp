// Reads a file's text into columns, in one pass.
//
// The text comes from memory, or from zstd data that a second thread decompresses while the first
// one parses. If no second thread can be started (RLIMIT_NPROC, a seccomp filter), one thread does
// both in turn, with the same result.
//
// Definitions must be known before the tables. Our files have their registry first. If the registry
// follows later, because the keys were sorted, the pass stops there and returns the registry for a
// second pass.
//
// Contents: the sources of text, the limit on its size after decompression, and the parser.
//
// See also: json_handler.hpp, which finds the cell of an event, and row_filler.hpp for cells.

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/result.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/read/draft.hpp"
#include "core/registry/metric_def.hpp"

struct ZSTD_DCtx_s;

namespace ctprof {

// A source of text in slices.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // Returns the next slice; empty at the end. It is valid until the next call. An error contains
  // only the reason, not the file's name.
  virtual Result<std::string_view> next() = 0;
};

// Text in memory. REQUIRES: the text outlives it.
class PlainText final : public TextSource {
 public:
  PlainText(std::string_view text, std::size_t slice_bytes)
      : left_(text), slice_bytes_(slice_bytes) {}
  Result<std::string_view> next() override;

 private:
  std::string_view left_;
  std::size_t slice_bytes_;
};

// Decompresses zstd data slice by slice, in the calling thread. REQUIRES: the data outlives it.
class Unfolding {
 public:
  explicit Unfolding(std::string_view zstd);
  // Fills `text` with the next slice; leaves it empty at the end. An error contains only the
  // reason. May throw bad_alloc.
  Result<void> next(std::string& text);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  Result<void> step(std::string& text, std::size_t& size);

  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string_view zstd_;
  std::size_t at_ = 0;     // position in the data
  std::size_t total_ = 0;  // bytes of text so far
  std::size_t hint_ = 0;   // bytes that zstd still expects; 0 at the end of a frame
  bool more_ = true;       // zstd may have more text for which the last slice had no space
};

// Text that a second thread decompresses. REQUIRES: the data outlives it.
class UnfoldedText final : public TextSource {
 public:
  explicit UnfoldedText(std::string_view zstd);
  UnfoldedText(const UnfoldedText&) = delete;
  UnfoldedText& operator=(const UnfoldedText&) = delete;
  ~UnfoldedText() override;
  Result<std::string_view> next() override;

 private:
  static constexpr std::size_t kSlices = 8;

  void start();
  void run();
  Result<void> unfold();
  // Waits for a free slice. Returns null if the reader was destroyed.
  std::string* wait_for_room();
  void hand_over();

  Unfolding unfolding_;
  std::array<std::string, kSlices> slices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // number of slices filled so far
  std::size_t taken_ = 0;   // number of slices that the parser has finished
  bool reading_ = false;    // the parser uses the slice after those
  bool ended_ = false;
  bool abandoned_ = false;
  Error failure_;              // valid when finished
  std::exception_ptr thrown_;  // valid when finished
  std::thread thread_;         // not joinable: next() decompresses in its caller's thread
};

// Options of a pass.
struct PassOptions {
  std::optional<RegistryPart>
      registry;  // known from an earlier pass; the file's own registry is then skipped
  bool only_registry = false;  // only search for the registry
};

// The result of a pass, in addition to the filled columns.
struct PassEnd {
  std::string failure;       // place and reason; empty: the whole file was read
  bool is_contents = false;  // valid JSON, but not a valid snapshot
  std::optional<RegistryPart>
      registry;  // found after the tables, or requested by only_find_registry
};

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                  Draft& draft);

}  // namespace ctprof
