#include "core/elf/debug_link.hpp"

#include <zlib.h>

#include "core/base/hexadecimal.hpp"
#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kMaxDebugLinkSize = 4096;

}  // namespace

// Parses the link: a name, padded to four bytes, and the checksum.
std::optional<DebugLink> read_debug_link(const ElfFile& file) {
  const auto section = file.section(".gnu_debuglink");
  if (!section || section->sh_type == SHT_NOBITS) return std::nullopt;
  const std::string bytes =
      file.read_bytes(section->sh_offset, section->sh_size, kMaxDebugLinkSize);
  ByteCursor cursor(bytes);
  DebugLink link{std::string(cursor.text(kMaxDebugLinkSize)), 0};
  cursor.skip((4 - cursor.position() % 4) % 4);
  link.checksum = cursor.get<std::uint32_t>();
  const bool is_plain = !link.name.empty() && link.name.find('/') == link.name.npos;
  return is_plain && cursor.ok() ? std::optional(link) : std::nullopt;
}

std::optional<std::uint32_t> compute_link_checksum(const ElfFile& file) {
  constexpr std::uint64_t kPieceSize = 1 << 20;
  uLong sum = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < file.size(); at += kPieceSize) {
    const std::string piece = file.read_bytes(at, file.size() - at, kPieceSize);
    if (piece.empty()) return std::nullopt;
    sum =
        ::crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

std::string format_build_id_path(std::string_view build_id) {
  return "/.build-id/" + to_hex(build_id.substr(0, 1)) + '/' + to_hex(build_id.substr(1));
}

}  // namespace ctprof
