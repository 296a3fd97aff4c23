#include "core/stacks/unpack.hpp"

#include <elf.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

namespace ctprof {
namespace {

// Limit on decoder memory: xz -9 needs 65 MiB; the lists that distributions pack need 9.
constexpr std::uint64_t kMaxDecoderMemory = 80 << 20;
// ELFCOMPRESS_ZSTD, which older headers lack.
constexpr std::uint32_t kElfCompressZstd = 2;
constexpr std::size_t kInitialOutputSize = 1 << 20;

struct EndStream {
  void operator()(lzma_stream* stream) const { ::lzma_end(stream); }
};

// Decodes until the stream ends, is broken, or has produced more than `max_size` bytes.
lzma_ret decode_stream(lzma_stream& stream, std::string& bytes, std::size_t max_size) {
  lzma_ret outcome = LZMA_OK;
  while (outcome == LZMA_OK && bytes.size() <= max_size) {
    const std::size_t done = bytes.size();
    bytes.resize(std::min(max_size + 1, std::max(2 * done, kInitialOutputSize)));
    stream.next_out = reinterpret_cast<std::uint8_t*>(bytes.data() + done);
    stream.avail_out = bytes.size() - done;
    outcome = ::lzma_code(&stream, LZMA_FINISH);
    bytes.resize(bytes.size() - stream.avail_out);
  }
  return outcome;
}

// Each function fills all of `bytes` or fails.
bool unpack_zlib(std::string_view packed, std::string& bytes) {
  uLongf size = bytes.size();
  const int outcome = ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                   reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  return outcome == Z_OK && size == bytes.size();
}
bool unpack_zstd(std::string_view packed, std::string& bytes) {
  return ::ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) ==
         bytes.size();
}

}  // namespace

std::string unpack_section(std::string_view section, std::size_t max_size) {
  Elf64_Chdr header;
  if (section.size() < sizeof header) return {};
  std::memcpy(&header, section.data(), sizeof header);
  section.remove_prefix(sizeof header);
  if (header.ch_size > max_size) return {};
  std::string bytes(header.ch_size, '\0');
  const bool is_complete = header.ch_type == ELFCOMPRESS_ZLIB   ? unpack_zlib(section, bytes)
                           : header.ch_type == kElfCompressZstd ? unpack_zstd(section, bytes)
                                                                : false;
  return is_complete ? bytes : std::string();
}

UnpackedXz unpack_xz(std::string_view file, std::size_t max_size) {
  lzma_stream stream = LZMA_STREAM_INIT;
  const std::unique_ptr<lzma_stream, EndStream> owner(&stream);
  if (::lzma_stream_decoder(&stream, kMaxDecoderMemory, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(file.data());
  stream.avail_in = file.size();
  UnpackedXz unpacked;
  const lzma_ret outcome = decode_stream(stream, unpacked.bytes, max_size);
  unpacked.produced_bytes = unpacked.bytes.size();
  unpacked.is_too_large = unpacked.produced_bytes > max_size;
  if (outcome != LZMA_STREAM_END || unpacked.is_too_large) unpacked.bytes.clear();
  return unpacked;
}

}  // namespace ctprof
