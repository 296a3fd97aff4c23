#include <zstd.h>

#include "core/file/sink.hpp"

namespace ctprof {

void ZstdSink::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ZstdSink::ZstdSink(OutFile& file, int level) : file_(&file), context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize(), '\0') {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<void> ZstdSink::write(std::string_view text) {
  text_bytes_ += text.size();
  return compress(text, ZSTD_e_continue);
}

Result<void> ZstdSink::finish() { return compress({}, ZSTD_e_end); }

Result<void> ZstdSink::compress(std::string_view text, int directive) {
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, static_cast<ZSTD_EndDirective>(directive));
    if (ZSTD_isError(left)) return error("compressing", file_->path(), ZSTD_getErrorName(left));
    if (auto written = file_->write({out_.data(), out.pos}); !written) return written;
    if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
  }
}

}  // namespace ctprof
