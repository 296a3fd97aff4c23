#include "core/file/read/text_source.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <system_error>

#include "core/file/layout/limits.hpp"

namespace ctprof {

Result<std::string_view> PlainText::next() {
  const std::string_view slice = remaining_.substr(0, slice_bytes_);
  remaining_.remove_prefix(slice.size());
  return slice;
}

void StreamDecompressor::ContextDeleter::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

StreamDecompressor::StreamDecompressor(std::string_view zstd)
    : context_(ZSTD_createDCtx()), zstd_(zstd) {
  if (!context_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits::kWindowLog);
}

Result<void> StreamDecompressor::next(std::string& text) {
  std::size_t size = 0;
  while (size == 0 && (at_ < zstd_.size() || may_have_more_text_)) {
    text.resize(limits::kSliceBytes);
    CTPROF_TRY(decompress_slice(text, size));
  }
  text.resize(size);
  if (size == 0 && expected_bytes_ != 0) return Error{"ends in the middle of its zstd data"};
  return {};
}

// Decompresses until the text is full or the data ends.
Result<void> StreamDecompressor::decompress_slice(std::string& text, std::size_t& size) {
  const std::size_t most = limits::max_text_bytes(zstd_.size());
  ZSTD_inBuffer in{zstd_.data(), zstd_.size(), at_};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  do {
    const std::size_t before = in.pos;
    expected_bytes_ = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_getErrorCode(expected_bytes_) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(expected_bytes_))
      return Error{"invalid zstd data near byte " + std::to_string(before) + ": " +
                   ZSTD_getErrorName(expected_bytes_)};
  } while (in.pos < in.size && out.pos < out.size);
  at_ = in.pos;
  size = out.pos;
  may_have_more_text_ = size == text.size() && expected_bytes_ != 0;
  total_ += size;
  if (total_ > most)
    return Error{"decompresses to more than " + std::to_string(most) +
                 " bytes, the limit for a file of its size"};
  return {};
}

DecompressedText::DecompressedText(std::string_view zstd) : decompressor_(zstd) { start(); }

void DecompressedText::start() {
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::system_error&) {
    // No second thread is available, so next() decompresses.
  }
}

DecompressedText::~DecompressedText() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  state_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::string_view> DecompressedText::next() {
  if (!thread_.joinable()) {
    std::string& slice = slices_.front();
    CTPROF_TRY(decompressor_.next(slice));
    return std::string_view(slice);
  }
  std::unique_lock lock(mutex_);
  if (is_slice_in_use_) ++consumed_;
  is_slice_in_use_ = false;
  if (filled_ - consumed_ <= kSlices / 2) state_changed_.notify_all();
  state_changed_.wait(lock, [&] { return consumed_ < filled_ || is_finished_; });
  if (consumed_ < filled_) {
    is_slice_in_use_ = true;
    return std::string_view(slices_[consumed_ % kSlices]);
  }
  if (exception_) std::rethrow_exception(exception_);
  if (!error_.text.empty()) return error_;
  return std::string_view{};
}

void DecompressedText::run_thread() {
  // Other threads read both members only after `is_finished_` is set. Copying an error can itself
  // throw bad_alloc.
  try {
    if (const auto done = decompress_all(); !done) error_ = done.error();
  } catch (...) {
    exception_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  state_changed_.notify_all();
}

Result<void> DecompressedText::decompress_all() {
  while (std::string* slice = wait_for_free_slice()) {
    if (auto done = decompressor_.next(*slice); !done || slice->empty()) return done;
    publish_slice();
  }
  return {};
}

std::string* DecompressedText::wait_for_free_slice() {
  std::unique_lock lock(mutex_);
  // When all slices are full, waits until half of them are free. The thread then wakes up once for
  // several slices.
  if (filled_ - consumed_ == kSlices)
    state_changed_.wait(lock, [&] { return filled_ - consumed_ <= kSlices / 2 || is_cancelled_; });
  return is_cancelled_ ? nullptr : &slices_[filled_ % kSlices];
}

void DecompressedText::publish_slice() {
  const std::lock_guard lock(mutex_);
  ++filled_;
  state_changed_.notify_all();
}

}  // namespace ctprof
