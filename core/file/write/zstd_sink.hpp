// Compresses into an OutFile, with a checksum at the end.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/sink.hpp"
#include "core/file/write/out_file.hpp"

struct ZSTD_CCtx_s;

namespace ctprof {

class ZstdSink final : public Sink {
 public:
  ZstdSink(OutFile& file, int level);
  Result<void> write(std::string_view text) override;
  // Writes what is left. REQUIRES: last.
  Result<void> finish();
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  Result<void> compress(std::string_view text, int directive);
  Result<void> pad();

  OutFile* file_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string out_;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace ctprof
