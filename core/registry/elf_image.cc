#include "core/registry/elf_image.hpp"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

namespace ctprof {
namespace {

constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
#if defined(__x86_64__)
constexpr ElfW(Half) kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) kMachine = EM_AARCH64;
#else
constexpr ElfW(Half) kMachine = EM_NONE;  // not checked here: the dynamic loader does
#endif

constexpr std::size_t kMostSegments = 128;  // a shared object has some ten

Error cut_short(std::string_view what) {
  return {"it is cut short: " + std::string(what) + " beyond its end"};
}
Error damaged(std::string_view how) { return {"it is damaged: " + std::string(how)}; }

// A segment without bytes in the file may begin anywhere, unless it starts within a page: the
// dynamic loader maps whole pages, and zeroes the rest of that one.
bool maps_file(const ElfW(Phdr) & segment) {
  return segment.p_filesz > 0 ||
         (segment.p_type == PT_LOAD &&
          segment.p_vaddr % static_cast<std::uint64_t>(::getpagesize()) != 0);
}

// The dynamic loader reads these segments through their mapping.
bool is_read_by_loader(const ElfW(Phdr) & segment) {
  return segment.p_type == PT_DYNAMIC || segment.p_type == PT_NOTE ||
         segment.p_type == PT_GNU_PROPERTY;
}

}  // namespace

Result<void> ElfImage::read_headers() {
  ElfW(Ehdr) header{};
  if (!at_offset(0, header)) return Error{"it is not an ELF shared object"};
  if (auto fits = check_kind(header); !fits) return fits;
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 ||
      header.e_phnum > kMostSegments)
    return damaged("its program headers are of an odd size or number");
  segments_.resize(header.e_phnum);
  if (!bytes(header.e_phoff, segments_.data(), segments_.size() * sizeof(ElfW(Phdr))))
    return cut_short("its program headers lie");
  return check_segments();
}

Result<void> ElfImage::check_kind(const ElfW(Ehdr) & header) const {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return Error{"it is not an ELF shared object"};
  if (header.e_ident[EI_CLASS] != kClass || header.e_ident[EI_DATA] != kByteOrder ||
      (kMachine != EM_NONE && header.e_machine != kMachine))
    return Error{"it is for another kind of machine"};
  if (header.e_type != ET_DYN) return Error{"it is an ELF file, but not a shared object"};
  return {};
}

Result<void> ElfImage::check_segments() const {
  for (const auto& segment : segments_) {
    if (maps_file(segment) && !lies_within(segment.p_offset, segment.p_filesz, size_))
      return cut_short("a segment of it lies");
    if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
      return damaged("a segment of it is larger in the file than in memory");
    if (is_read_by_loader(segment) && segment.p_filesz > 0 &&
        !offset_of(segment.p_vaddr, segment.p_filesz))
      return damaged("a segment that has to be mapped is not");
  }
  return {};
}

const ElfW(Phdr) * ElfImage::dynamic() const {
  for (const auto& segment : segments_)
    if (segment.p_type == PT_DYNAMIC) return &segment;
  return nullptr;
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address, std::uint64_t size) const {
  for (const auto& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        lies_within(address - segment.p_vaddr, size, segment.p_filesz))
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

bool ElfImage::bytes(std::uint64_t offset, void* to, std::size_t size) const {
  return lies_within(offset, size, size_) &&
         ::pread(fd_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

}  // namespace ctprof
