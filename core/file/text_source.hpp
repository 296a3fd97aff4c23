// Where a file's text comes from: memory, or zstd data that a second thread unfolds while the first one parses.
//
// What is here:   slices of text, one after the other.
// What is not:    what they mean (events.hpp).

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/result.hpp"

namespace ctprof {

class TextSource {
 public:
  virtual ~TextSource() = default;
  // The next slice, empty at the end. It lives until the next call. An error is the reason alone, without the file's name.
  virtual Result<std::string_view> next() = 0;
};

class PlainText final : public TextSource {
 public:
  PlainText(std::string_view text, std::size_t slice_bytes) : left_(text), slice_bytes_(slice_bytes) {}
  Result<std::string_view> next() override;

 private:
  std::string_view left_;
  std::size_t slice_bytes_;
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
  struct Slice {
    std::string text;
    std::size_t size = 0;
  };
  static constexpr std::size_t kSlices = 8;

  void run();
  Error unfold();
  // The slice to fill next, or null when nobody wants more.
  Slice* wait_for_room();
  void hand_over();

  std::string_view zstd_;
  std::array<Slice, kSlices> slices_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // slices handed over so far
  std::size_t taken_ = 0;   // slices that the parser is done with
  bool reading_ = false;    // whether the parser holds the slice after those
  bool ended_ = false;
  bool abandoned_ = false;
  Error failure_;  // once ended
  std::thread thread_;
};

}  // namespace ctprof
