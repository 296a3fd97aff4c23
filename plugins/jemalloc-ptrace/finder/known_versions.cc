#include "plugins/jemalloc-ptrace/finder/known_versions.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kMaxImage = 1 << 20;
constexpr std::uint64_t kMaxConstants = 256 << 20;
constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::size_t kPairs = 24;

// Read from Debian's builds and those of crates, each compared with what mallctl says or with the
// code of malloc and free.
constexpr std::array kVersions{
    KnownVersion{"5.2.1-0-gea6b3e973b47", EM_X86_64, {16, 24}, -1},
    KnownVersion{"5.2.1-0-gea6b3e973b47", EM_AARCH64, {16, 24}, -1},
    KnownVersion{"5.3.0-0-g54eaed1d8b56", EM_X86_64, {824, 840}, 432},
    KnownVersion{"5.3.0-0-g54eaed1d8b56", EM_AARCH64, {888, 904}, 496},
    // As tikv-jemallocator 0.6 has it.
    KnownVersion{"5.3.0-1-ge13ca993e8cc", EM_X86_64, {824, 840}, 432},
    KnownVersion{"5.3.0-1-ge13ca993e8cc", EM_AARCH64, {888, 904}, 496},
    KnownVersion{"5.3.1-0-g81034ce1f137", EM_X86_64, {936, 952}, 544},
    KnownVersion{"5.3.1-0-g81034ce1f137", EM_AARCH64, {1008, 1024}, 616},
};

// Calls `see` with the file's constants, piece by piece, each with the end of the one before it;
// until it returns true.
template <class See>
bool any_piece(const ElfFile& file, std::size_t overlap, See see) {
  std::uint64_t patience = kMaxConstants;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, patience);
    patience -= size;
    for (std::uint64_t at = 0; at < size; at += kPiece) {
      const auto piece = file.table<char>(segment.p_offset + at,
                                          std::min(size - at, kPiece + overlap), kPiece + overlap);
      if (piece.empty()) break;
      if (see(std::string_view(piece.data(), piece.size()))) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const KnownVersion> known_versions() { return kVersions; }

std::optional<std::int64_t> empty_cache_in(std::span<const std::uint64_t> image) {
  std::size_t pairs = 0;
  for (std::size_t at = 0; at + 1 < image.size();) {
    const bool pair = image[at] == 1 && image[at + 1] == 0;
    pairs = pair ? pairs + 1 : 0;
    at += pair ? 2 : 1;
    if (pairs == kPairs)
      return static_cast<std::int64_t>((at - 2 * kPairs) * sizeof(std::uint64_t));
  }
  return std::nullopt;
}

std::optional<std::int64_t> empty_cache_of(const ElfFile& file) {
  const Elf64_Phdr* tls = file.tls();
  if (tls == nullptr || tls->p_filesz > kMaxImage) return std::nullopt;
  return empty_cache_in(
      file.table<std::uint64_t>(tls->p_offset, tls->p_filesz / sizeof(std::uint64_t), kMaxImage));
}

const KnownVersion* version_of(const ElfFile& file) {
  const KnownVersion* found = nullptr;
  any_piece(file, kVersions[0].text.size(), [&](std::string_view piece) {
    for (const KnownVersion& version : kVersions)
      if (version.machine == file.machine() && piece.find(version.text) != piece.npos)
        found = &version;
    return found != nullptr;
  });
  return found;
}

bool has_constant(const ElfFile& file, std::string_view text) {
  return any_piece(file, text.size(),
                   [&](std::string_view piece) { return piece.find(text) != piece.npos; });
}

}  // namespace ctprof::jemalloc
