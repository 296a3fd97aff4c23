#include "core/file/write/zstd_sink.hpp"

#include <zstd.h>

#include <algorithm>

#include "core/file/layout/limits.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kSkippableHead =
    "\x50\x2a\x4d\x18";  // of a frame to be passed over; its size follows
constexpr std::size_t kPadAtOnce = 64 * 1024;

}  // namespace

void ZstdSink::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ZstdSink::ZstdSink(OutFile& file, int level)
    : file_(&file), context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize(), '\0') {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<void> ZstdSink::write(std::string_view text) {
  text_bytes_ += text.size();
  return compress(text, ZSTD_e_continue);
}

Result<void> ZstdSink::finish() {
  if (auto done = compress({}, ZSTD_e_end); !done) return done;
  return pad();
}

// Threads that are alike in everything but their tid shrink further than a reader takes as sound
// (limits.hpp). Such a file gets bytes that every zstd reader passes over, so that its size is in
// proportion again: at most 10 bytes for each thread beyond 32,000.
Result<void> ZstdSink::pad() {
  if (text_bytes_ <= limits::most_text(file_->bytes())) return {};
  std::size_t left = (text_bytes_ - limits::most_text(file_->bytes())) / limits::kExpansion + 1;
  std::string frame(kSkippableHead);
  for (int byte = 0; byte < 4; ++byte) frame += static_cast<char>(left >> 8 * byte & 0xff);
  for (; left > 0; left -= std::min(left, kPadAtOnce)) {
    frame.append(std::min(left, kPadAtOnce), '\0');
    if (auto written = file_->write(frame); !written) return written;
    frame.clear();
  }
  return {};
}

Result<void> ZstdSink::compress(std::string_view text, int directive) {
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(context_.get(), &out, &in, static_cast<ZSTD_EndDirective>(directive));
    if (ZSTD_isError(left)) return error("compressing", file_->path(), ZSTD_getErrorName(left));
    if (auto written = file_->write({out_.data(), out.pos}); !written) return written;
    if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
  }
}

}  // namespace ctprof
