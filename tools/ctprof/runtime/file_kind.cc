#include "tools/ctprof/runtime/file_kind.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;  // bytes read from a file; the first block of a zstd
                                              // frame may be as long
constexpr std::size_t kHeadBytes = 512;       // bytes of content searched for signatures

// Decompresses the first bytes of a zstd file. Returns an empty string if it is not one.
std::string decompress_head(std::string_view compressed) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  std::string head(kHeadBytes, '\0');
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  ZSTD_outBuffer out{head.data(), head.size(), 0};
  while (context && out.pos < out.size && in.pos < in.size) {
    const std::size_t result = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(result)) break;
  }
  head.resize(out.pos);
  return head;
}

bool has_signature(const FileKind& kind, std::string_view bytes) {
  const std::string head =
      kind.is_compressed ? decompress_head(bytes) : std::string(bytes.substr(0, kHeadBytes));
  return std::ranges::any_of(kind.signatures, [&](std::string_view mark) {
    return !mark.empty() &&
           (kind.is_compressed ? head.starts_with(mark) : head.find(mark) != head.npos);
  });
}

// REQUIRES: `file` is a regular file. Returns an empty string if it cannot be read.
std::string read_first_bytes(const sdk::Fd& file) {
  std::string bytes(kReadBytes, '\0');
  const ssize_t size = file ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : -1;
  bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

Result<void> check_replaceable(const Destination& place, const FileKind& kind) {
  if (place.kind() != Destination::Kind::File) return {};
  struct stat status {};
  if (::fstatat(place.directory(), place.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode) || status.st_size == 0)
    return {};
  const sdk::Fd file(::openat(place.directory(), place.name().c_str(),
                              O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (has_signature(kind, read_first_bytes(file))) return {};
  return error("writing", place.path(),
               "the existing file is not a " + std::string(kind.noun) + "; --force replaces it");
}

}  // namespace ctprof::cli
