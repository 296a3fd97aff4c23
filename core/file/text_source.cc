#include "core/file/text_source.hpp"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "core/file/limits.hpp"

namespace ctprof {

Result<std::string_view> PlainText::next() {
  const std::string_view slice = left_.substr(0, slice_bytes_);
  left_.remove_prefix(slice.size());
  return slice;
}

UnfoldedText::UnfoldedText(std::string_view zstd) : zstd_(zstd), thread_([this] { run(); }) {}

UnfoldedText::~UnfoldedText() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<std::string_view> UnfoldedText::next() {
  std::unique_lock lock(mutex_);
  if (reading_) ++taken_;
  reading_ = false;
  if (filled_ - taken_ <= kSlices / 2) changed_.notify_all();
  changed_.wait(lock, [&] { return taken_ < filled_ || ended_; });
  if (taken_ < filled_) {
    reading_ = true;
    const Slice& slice = slices_[taken_ % kSlices];
    return std::string_view(slice.text.data(), slice.size);
  }
  if (!failure_.text.empty()) return failure_;
  return std::string_view{};
}

void UnfoldedText::run() {
  Error failure = unfold();
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  ended_ = true;
  changed_.notify_all();
}

Error UnfoldedText::unfold() {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  const std::size_t most = limits::kFreeText + limits::kExpansion * zstd_.size();
  ZSTD_inBuffer in{zstd_.data(), zstd_.size(), 0};
  std::size_t total = 0, hint = 0;
  bool more = true;
  while (in.pos < in.size || more) {
    Slice* slice = wait_for_room();
    if (!slice) return {};
    slice->text.resize(limits::kSliceBytes);
    ZSTD_outBuffer out{slice->text.data(), slice->text.size(), 0};
    do {
      const std::size_t before = in.pos;
      hint = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(hint)) return {"not sound zstd data near byte " + std::to_string(before) + ": " + ZSTD_getErrorName(hint)};
    } while (in.pos < in.size && out.pos < out.size);
    more = out.pos == out.size && hint != 0;
    slice->size = out.pos;
    total += out.pos;
    if (total > most) return {"unfolds to more than " + std::to_string(most) + " bytes, which no file of its size does"};
    if (out.pos > 0) hand_over();
  }
  if (hint != 0) return {"ends in the middle of its zstd data"};
  return {};
}

UnfoldedText::Slice* UnfoldedText::wait_for_room() {
  std::unique_lock lock(mutex_);
  // Once full it waits for half of the room, so that it is woken for several slices and not for each.
  if (filled_ - taken_ == kSlices) changed_.wait(lock, [&] { return filled_ - taken_ <= kSlices / 2 || abandoned_; });
  return abandoned_ ? nullptr : &slices_[filled_ % kSlices];
}

void UnfoldedText::hand_over() {
  const std::lock_guard lock(mutex_);
  ++filled_;
  changed_.notify_all();
}

}  // namespace ctprof
