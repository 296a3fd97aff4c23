// One pass over a file's text, straight into columns.
//
// The text comes from memory, or from zstd data that a second thread unfolds while the first one
// parses. Where no second thread can be had (RLIMIT_NPROC, a seccomp filter), the first one does
// both in turn, and the text is the same.
//
// Definitions must be known before the tables come. A file of ours has its registry first; where a
// registry follows later, because somebody has sorted the keys, the pass ends early and gives the
// registry back for another one.
//
// What is here:   slices of text one after the other, the bound on how far zstd data may unfold,
// and the parser that gets them.
// What is not:    which cell an event belongs to (events.hpp), the cell itself (row_filler.hpp).

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

class TextSource {
 public:
  virtual ~TextSource() = default;
  // The next slice, empty at the end. It lives until the next call. An error is the reason alone,
  // without the file's name.
  virtual Result<std::string_view> next() = 0;
};

class PlainText final : public TextSource {
 public:
  PlainText(std::string_view text, std::size_t slice_bytes)
      : left_(text), slice_bytes_(slice_bytes) {}
  Result<std::string_view> next() override;

 private:
  std::string_view left_;
  std::size_t slice_bytes_;
};

// Unfolds zstd data slice by slice, in the thread that asks. REQUIRES: the data outlives it.
class Unfolding {
 public:
  explicit Unfolding(std::string_view zstd);
  // Fills `text` with what comes next, at most a slice; it stays empty at the end. An error is the
  // reason alone. May throw bad_alloc.
  Result<void> next(std::string& text);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  Result<void> step(std::string& text, std::size_t& size);

  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string_view zstd_;
  std::size_t at_ = 0;     // in the data
  std::size_t total_ = 0;  // bytes of text so far
  std::size_t hint_ = 0;   // what zstd says is still to come; 0 at the end of a frame
  bool more_ = true;       // whether it may hold text back that no slice had room for
};

// REQUIRES: the data outlives it.
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
  // The slice to fill next, or null when nobody wants more.
  std::string* wait_for_room();
  void hand_over();

  Unfolding unfolding_;
  std::array<std::string, kSlices> slices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // slices handed over so far
  std::size_t taken_ = 0;   // slices that the parser is done with
  bool reading_ = false;    // whether the parser holds the slice after those
  bool ended_ = false;
  bool abandoned_ = false;
  Error failure_;              // once ended
  std::exception_ptr thrown_;  // likewise
  std::thread thread_;         // none: whoever asks unfolds
};

struct PassOptions {
  std::optional<RegistryPart>
      registry;                // known from an earlier pass; the file's own is then passed over
  bool only_registry = false;  // look for that and nothing else
};

struct PassEnd {
  std::string failure;                   // the place and the reason; empty: the whole file was read
  bool is_contents = false;              // sound JSON, but not what should be there
  std::optional<RegistryPart> registry;  // found too late, or looked for
};

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                  Draft& draft);

}  // namespace ctprof
