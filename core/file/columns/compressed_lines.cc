#include "core/file/columns/compressed_lines.hpp"

#define ZSTD_STATIC_LINKING_ONLY  // for ZSTD_isSkippableFrame()
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

#include "core/file/layout/limits.hpp"

namespace ctprof::columns {
namespace {

// Begins a skippable frame; its size follows.
constexpr std::string_view kSkippableMagic = "\x50\x2a\x4d\x18";

std::string describe_byte_position(std::size_t byte) {
  return " near byte " + std::to_string(byte);
}

bool is_skippable(std::string_view zstd) {
  return zstd.size() >= 4 && ZSTD_isSkippableFrame(zstd.data(), zstd.size()) != 0;
}

// Returns the length of the first frame of the data; 0 if the data ends inside the frame.
Result<std::size_t> size_of_frame(std::string_view zstd, std::size_t at) {
  const std::size_t size = ZSTD_findFrameCompressedSize(zstd.data(), zstd.size());
  if (!ZSTD_isError(size)) return size;
  if (ZSTD_getErrorCode(size) == ZSTD_error_srcSize_wrong) return std::size_t{0};
  return Error{"invalid zstd data" + describe_byte_position(at) + ": " + ZSTD_getErrorName(size)};
}

Result<std::size_t> text_size_of_frame(std::string_view frame, std::size_t at) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
    return Error{"the line" + describe_byte_position(at) + " does not contain its length"};
  if (size > limits::kLineBytes)
    return Error{"the line" + describe_byte_position(at) + " is longer than " +
                 std::to_string(limits::kLineBytes) + " bytes"};
  return static_cast<std::size_t>(size);
}

}  // namespace

void FrameCompressor::ContextDeleter::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

FrameCompressor::FrameCompressor(int level) : level_(level), context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

std::string FrameCompressor::compress(std::string_view text) { return compress(text, level_); }
// Level 0 is the default of zstd, which is 3.
std::string FrameCompressor::compress_fast(std::string_view text) {
  return compress(text, level_ < 0 ? level_ : 1);
}

std::string FrameCompressor::compress(std::string_view text, int level) {
  if (const std::size_t bound = ZSTD_compressBound(text.size()); capacity_ < bound) {
    frame_.reset();
    frame_.reset(new char[bound]);
    capacity_ = bound;
  }
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  const std::size_t size =
      ZSTD_compress2(context_.get(), frame_.get(), capacity_, text.data(), text.size());
  if (ZSTD_isError(size))
    throw std::bad_alloc();  // the buffer is large enough, so only an allocation can fail
  return {frame_.get(), size};
}

namespace {

std::string make_padding_for_excess(std::uint64_t max_text_bytes, std::uint64_t text_bytes) {
  if (text_bytes <= max_text_bytes) return {};
  const std::size_t padding_bytes = (text_bytes - max_text_bytes) / limits::kTextPerByte + 1;
  std::string frame(kSkippableMagic);
  for (int byte = 0; byte < 4; ++byte) frame += static_cast<char>(padding_bytes >> 8 * byte & 0xff);
  frame.append(padding_bytes, '\0');
  return frame;
}

}  // namespace

std::string make_padding(std::uint64_t text_bytes, std::uint64_t file_bytes) {
  return make_padding_for_excess(limits::max_text_bytes(file_bytes), text_bytes);
}

std::string make_padding_for_block(std::uint64_t text_bytes, std::uint64_t block_bytes) {
  return make_padding_for_excess(limits::kTextPerByte * block_bytes, text_bytes);
}

Result<Frames> find_frames(std::string_view zstd) {
  Frames found;
  CTPROF_TRY(find_frames(zstd, found));
  return found;
}

Result<void> find_frames(std::string_view zstd, Frames& found) {
  std::size_t at = 0, text = 0;
  while (at < zstd.size()) {
    const std::string_view rest = zstd.substr(at);
    CTPROF_TRY_VALUE(const auto size, size_of_frame(rest, at));
    if (size == 0) return found.is_truncated = true, Result<void>();
    if (!is_skippable(rest)) {
      CTPROF_TRY_VALUE(const auto bytes, text_size_of_frame(rest, at));
      text += bytes;
      if (found.complete.size() == limits::kLines)
        return Error{"has more than " + std::to_string(limits::kLines) + " lines"};
      found.complete.push_back({at, size, bytes});
    }
    if (text > limits::max_text_bytes(zstd.size()))
      return Error{"decompresses to more than " +
                   std::to_string(limits::max_text_bytes(zstd.size())) +
                   " bytes, the limit for a file of its size"};
    at += size;
    found.end = at;
  }
  return {};
}

void FrameDecompressor::ContextDeleter::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

FrameDecompressor::FrameDecompressor() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits::kWindowLog);
}

Result<std::string_view> FrameDecompressor::decompress(std::string_view zstd, const Frame& frame) {
  if (capacity_ < frame.text_bytes) {
    text_.reset();
    text_.reset(new char[frame.text_bytes]);
    capacity_ = frame.text_bytes;
  }
  const std::size_t size = ZSTD_decompressDCtx(context_.get(), text_.get(), frame.text_bytes,
                                               zstd.data() + frame.offset, frame.size);
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  if (ZSTD_isError(size))
    return Error{"invalid zstd data" + describe_byte_position(frame.offset) + ": " +
                 ZSTD_getErrorName(size)};
  if (size != frame.text_bytes)
    return Error{"the line" + describe_byte_position(frame.offset) +
                 " does not have the length that it states"};
  return std::string_view(text_.get(), size);
}

}  // namespace ctprof::columns
