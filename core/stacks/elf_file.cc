#include "core/stacks/elf_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ctprof {
namespace {

// Limit for all bytes that are read from one file; symbols and call frames of a 2 GiB browser fit.
constexpr std::uint64_t kMostFileBytes = 512ULL << 20;
constexpr std::uint64_t kMostSegments = 128;
constexpr std::uint64_t kMostSections = 65536;
constexpr std::uint64_t kMostSectionNames = 1 << 20;
constexpr std::uint64_t kMostNotes = 64 << 10;
constexpr std::size_t kLongestBuildId = 64;

std::uint64_t rounded_up(std::uint64_t value) { return (value + 3) & ~std::uint64_t{3}; }

bool is_code(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
}

// Finds the build id in a list of notes.
std::string build_id_in(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::uint64_t name = rounded_up(note.n_namesz);
    const std::uint64_t whole = name + rounded_up(note.n_descsz);
    if (name + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(0, note.n_namesz) == std::string_view{"GNU", 4})
      return std::string(notes.substr(name, std::min<std::size_t>(note.n_descsz, kLongestBuildId)));
    notes.remove_prefix(std::min<std::size_t>(whole, notes.size()));
  }
  return {};
}

// Reads only as many bytes as `name` has: 65,536 sections may refer to one text of a megabyte.
bool is_name_at(const std::string& names, std::size_t at, std::string_view name) {
  if (at >= names.size()) return false;
  const auto text = std::string_view(names).substr(at, name.size() + 1);
  return text.starts_with(name) && (text.size() == name.size() || text.back() == '\0');
}

std::uint64_t size_of_file(int fd) {
  struct stat status {};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool read_all(int fd, std::uint64_t offset, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

ElfFile::ElfFile(int fd) : fd_(fd), size_(size_of_file(fd)), budget_(kMostFileBytes) {
  read_head();
}

ElfFile::ElfFile(std::string_view image)
    : image_(image), size_(image.size()), budget_(kMostFileBytes) {
  read_head();
}

void ElfFile::read_head() {
  const auto& ident = header_.e_ident;
  const bool is_elf = read(0, &header_, sizeof header_) && std::memcmp(ident, ELFMAG, SELFMAG) == 0;
  is_32_bit_ = is_elf && ident[EI_CLASS] == ELFCLASS32;
  valid_ = is_elf && ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB &&
           (header_.e_phnum == 0 || header_.e_phentsize == sizeof(Elf64_Phdr));
  if (valid_) segments_ = table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, kMostSegments);
}

const Elf64_Phdr* ElfFile::segment(std::uint32_t type) const {
  const auto found = std::ranges::find(segments_, type, &Elf64_Phdr::p_type);
  return found == segments_.end() ? nullptr : &*found;
}

std::vector<Elf64_Shdr> ElfFile::sections() const {
  if (!valid_ || header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shoff == 0) return {};
  return table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, kMostSections);
}

std::optional<Elf64_Shdr> ElfFile::section(std::string_view name) const {
  const auto headers = sections();
  if (header_.e_shstrndx >= headers.size()) return std::nullopt;
  const Elf64_Shdr& of_names = headers[header_.e_shstrndx];
  const std::string names = bytes(of_names.sh_offset, of_names.sh_size, kMostSectionNames);
  for (const Elf64_Shdr& header : headers)
    if (is_name_at(names, header.sh_name, name)) return header;
  return std::nullopt;
}

std::string ElfFile::build_id() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    std::string id = build_id_in(bytes(segment.p_offset, segment.p_filesz, kMostNotes));
    if (!id.empty()) return id;
  }
  return segments_.empty() ? build_id_in_sections() : std::string();
}

// Some files that contain only debug information have no segments.
std::string ElfFile::build_id_in_sections() const {
  const auto section = this->section(".note.gnu.build-id");
  if (!section || section->sh_type != SHT_NOTE) return {};
  return build_id_in(bytes(section->sh_offset, section->sh_size, kMostNotes));
}

FileAddress ElfFile::code_shift() const {
  for (const Elf64_Phdr& segment : segments_)
    if (is_code(segment)) return segment.p_vaddr - segment.p_offset;
  return 0;
}

std::optional<FileAddress> ElfFile::code_address(std::uint64_t offset) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (is_code(segment) && offset >= segment.p_offset &&
        offset - segment.p_offset < segment.p_filesz)
      return segment.p_vaddr + (offset - segment.p_offset);
  }
  return std::nullopt;
}

std::optional<ElfFile::Place> ElfFile::place_of(FileAddress address) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      const std::uint64_t from = address - segment.p_vaddr;
      return Place{segment.p_offset + from, segment.p_filesz - from};
    }
  return std::nullopt;
}

bool ElfFile::read(std::uint64_t offset, void* to, std::size_t size) const {
  if (offset > size_ || size > size_ - offset || !charge(size)) return false;
  if (fd_ >= 0) return read_all(fd_, offset, static_cast<char*>(to), size);
  std::memcpy(to, image_.data() + offset, size);
  return true;
}

std::string ElfFile::bytes(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) const {
  std::string bytes(fitting(offset, std::min(size, limit), 1), '\0');
  if (!read(offset, bytes.data(), bytes.size())) bytes.clear();
  return bytes;
}

std::string ElfFile::text(std::uint64_t offset, std::size_t limit) const {
  constexpr std::size_t kPiece = 128;
  std::string text;
  while (text.size() < limit) {
    const std::string piece = bytes(offset + text.size(), kPiece, limit - text.size());
    const auto end = piece.find('\0');
    text.append(piece, 0, end);
    if (piece.empty() || end != piece.npos) break;
  }
  return text;
}

bool ElfFile::charge(std::uint64_t bytes) const {
  const bool enough = bytes <= budget_;
  budget_ = enough ? budget_ - bytes : 0;
  return enough;
}

std::size_t ElfFile::fitting(std::uint64_t offset, std::uint64_t count, std::size_t size) const {
  if (offset >= size_) return 0;
  return static_cast<std::size_t>(std::min(count, (size_ - offset) / size));
}

}  // namespace ctprof
