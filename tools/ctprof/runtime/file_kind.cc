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

constexpr std::size_t kPacked = 64 << 10;  // bytes read from a file; the first block of a zstd
                                           // frame may be as long
constexpr std::size_t kHead = 512;         // bytes of content searched for signatures

// Decompresses the first bytes of a zstd file. Returns an empty string if it is not one.
std::string unpacked(std::string_view packed) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  std::string head(kHead, '\0');
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{head.data(), head.size(), 0};
  while (context && out.pos < out.size && in.pos < in.size) {
    const std::size_t hint = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(hint)) break;
  }
  head.resize(out.pos);
  return head;
}

bool is_of(const FileKind& kind, std::string_view bytes) {
  const std::string head = kind.is_packed ? unpacked(bytes) : std::string(bytes.substr(0, kHead));
  return std::ranges::any_of(kind.marks, [&](std::string_view mark) {
    return !mark.empty() &&
           (kind.is_packed ? head.starts_with(mark) : head.find(mark) != head.npos);
  });
}

// REQUIRES: `file` is a regular file. Returns an empty string if it cannot be read.
std::string first_bytes(const sdk::Fd& file) {
  std::string bytes(kPacked, '\0');
  const ssize_t size = file ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : -1;
  bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

Result<void> check_replaced(const Destination& place, const FileKind& kind) {
  if (place.kind() != Destination::Kind::File) return {};
  struct stat found {};
  if (::fstatat(place.directory(), place.name().c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(found.st_mode) || found.st_size == 0)
    return {};
  const sdk::Fd file(::openat(place.directory(), place.name().c_str(),
                              O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (is_of(kind, first_bytes(file))) return {};
  return error("writing", place.path(),
               "the existing file is not a " + std::string(kind.noun) + "; --force replaces it");
}

}  // namespace ctprof::cli
