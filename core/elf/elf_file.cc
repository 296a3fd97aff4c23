#include "core/elf/elf_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ctprof {
namespace {

constexpr unsigned char kByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

constexpr std::uint64_t kMaxSections = 65536;
constexpr std::uint64_t kMaxSectionNameBytes = 1 << 20;
constexpr std::size_t kMaxSectionNameSize = 64;
constexpr std::uint64_t kMaxDynamicEntries = 1024;
constexpr std::uint64_t kMaxNoteBytes = 64 << 10;
constexpr std::size_t kMaxBuildIdSize = 64;

std::uint64_t round_up_to_4(std::uint64_t value) { return (value + 3) & ~std::uint64_t{3}; }

bool is_code(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
}

// Finds the build id in a list of notes.
std::string find_build_id(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::uint64_t name = round_up_to_4(note.n_namesz);
    const std::uint64_t whole = name + round_up_to_4(note.n_descsz);
    if (name + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(0, note.n_namesz) == std::string_view{"GNU", 4})
      return std::string(notes.substr(name, std::min<std::size_t>(note.n_descsz, kMaxBuildIdSize)));
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

std::uint64_t get_file_size(int fd) {
  struct stat status {};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool read_fully(int fd, std::uint64_t offset, char* buffer, std::size_t size) {
  while (size > 0) {
    const ssize_t bytes_read = ::pread(fd, buffer, size, static_cast<off_t>(offset));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read <= 0) return false;
    buffer += bytes_read;
    offset += static_cast<std::uint64_t>(bytes_read);
    size -= static_cast<std::size_t>(bytes_read);
  }
  return true;
}

}  // namespace

ElfFile::ElfFile(int fd, std::shared_ptr<FileBudget> budget)
    : fd_(fd), size_(get_file_size(fd)), budget_(std::move(budget)) {
  read_header();
}

ElfFile::ElfFile(std::string_view image)
    : image_(image), size_(image.size()), budget_(std::make_shared<FileBudget>()) {
  read_header();
}

void ElfFile::keep_start(std::size_t size) { kept_start_ = read_bytes(0, size, size); }

void ElfFile::read_header() {
  const auto& ident = header_.e_ident;
  if (!read(0, &header_, sizeof header_) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return;
  const bool is_supported = ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == kByteOrder;
  kind_ = is_supported ? ElfKind::Elf64 : ElfKind::OtherClass;
  if (is_supported && header_.e_phentsize == sizeof(Elf64_Phdr))
    segments_ = read_table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, kMaxSegments);
}

const Elf64_Phdr* ElfFile::segment(std::uint32_t type) const {
  const auto found = std::ranges::find(segments_, type, &Elf64_Phdr::p_type);
  return found == segments_.end() ? nullptr : &*found;
}

std::vector<Elf64_Shdr> ElfFile::sections() const {
  if (!is_valid() || header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shoff == 0) return {};
  return read_table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, kMaxSections);
}

std::optional<Elf64_Shdr> ElfFile::section(std::string_view name) const {
  const auto headers = sections();
  if (header_.e_shstrndx >= headers.size()) return std::nullopt;
  const Elf64_Shdr& name_section = headers[header_.e_shstrndx];
  const std::string names =
      read_bytes(name_section.sh_offset, name_section.sh_size, kMaxSectionNameBytes);
  for (const Elf64_Shdr& header : headers)
    if (is_name_at(names, header.sh_name, name)) return header;
  return std::nullopt;
}

std::vector<NamedSection> ElfFile::named_sections() const {
  const auto headers = sections();
  if (header_.e_shstrndx >= headers.size()) return {};
  const Elf64_Shdr& name_section = headers[header_.e_shstrndx];
  const std::string names =
      read_bytes(name_section.sh_offset, name_section.sh_size, kMaxSectionNameBytes);
  if (!budget_->charge(headers.size() * sizeof(NamedSection))) return {};
  std::vector<NamedSection> named;
  for (const Elf64_Shdr& header : headers) {
    const std::string_view name = std::string_view(names).substr(
        std::min<std::size_t>(header.sh_name, names.size()), kMaxSectionNameSize);
    named.push_back({std::string(name.substr(0, name.find('\0'))), header});
  }
  return named;
}

// Uses the address as the dynamic loader does, not the offset that the segment claims.
const std::vector<Elf64_Dyn>& ElfFile::dynamic_entries() const {
  if (dynamic_entries_) return *dynamic_entries_;
  const Elf64_Phdr* segment = this->segment(PT_DYNAMIC);
  const std::uint64_t count =
      segment ? std::min(kMaxDynamicEntries, segment->p_filesz / sizeof(Elf64_Dyn)) : 0;
  const auto offset =
      count > 0 ? find_file_offset(segment->p_vaddr, count * sizeof(Elf64_Dyn)) : std::nullopt;
  auto& entries = dynamic_entries_.emplace();
  if (offset) entries = read_table<Elf64_Dyn>(*offset, count, count);
  const auto last = std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag);
  if (last != entries.end()) entries.erase(last + 1, entries.end());
  return entries;
}

std::optional<std::uint64_t> ElfFile::find_dynamic_value(std::int64_t tag) const {
  const auto& entries = dynamic_entries();
  const auto found = std::ranges::find(entries, tag, &Elf64_Dyn::d_tag);
  return found == entries.end() ? std::nullopt : std::optional(found->d_un.d_val);
}

// A position-independent program is marked in DT_FLAGS_1. Programs of linkers older than that flag
// have the debugger's entry DT_DEBUG.
bool ElfFile::is_program() const {
  if (header_.e_type != ET_DYN) return header_.e_type == ET_EXEC;
  const bool has_pie_flag = (find_dynamic_value(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0;
  return has_pie_flag || find_dynamic_value(DT_DEBUG).has_value();
}

std::string ElfFile::build_id() const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    std::string id = find_build_id(read_bytes(segment.p_offset, segment.p_filesz, kMaxNoteBytes));
    if (!id.empty()) return id;
  }
  return build_id_in_sections();
}

// Files that contain only debug information have no segments, or those of the stripped file.
std::string ElfFile::build_id_in_sections() const {
  const auto section = this->section(".note.gnu.build-id");
  if (!section || section->sh_type != SHT_NOTE) return {};
  return find_build_id(read_bytes(section->sh_offset, section->sh_size, kMaxNoteBytes));
}

FileAddress ElfFile::code_address_bias() const {
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

std::optional<ElfFile::StoredBytes> ElfFile::find_stored_bytes(FileAddress address) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      const std::uint64_t distance = address - segment.p_vaddr;
      return StoredBytes{segment.p_offset + distance, segment.p_filesz - distance};
    }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::find_file_offset(FileAddress address,
                                                       std::uint64_t size) const {
  const auto stored = find_stored_bytes(address);
  return stored && size <= stored->size ? std::optional(stored->offset) : std::nullopt;
}

bool ElfFile::read(std::uint64_t offset, void* buffer, std::size_t size) const {
  return offset <= size_ && size <= size_ - offset && budget_->charge(size) &&
         read_charged(offset, buffer, size);
}

// REQUIRES: the bytes are inside the file.
bool ElfFile::read_charged(std::uint64_t offset, void* buffer, std::size_t size) const {
  const std::string_view memory = fd_ >= 0 ? std::string_view(kept_start_) : image_;
  if (offset > memory.size() || size > memory.size() - offset)
    return read_fully(fd_, offset, static_cast<char*>(buffer), size);
  std::memcpy(buffer, memory.data() + offset, size);
  return true;
}

std::string ElfFile::read_bytes(std::uint64_t offset, std::uint64_t size,
                                std::uint64_t limit) const {
  const std::size_t available = count_available(offset, std::min(size, limit), 1);
  if (available == 0 || !budget_->charge(available)) return {};
  std::string bytes(available, '\0');
  if (!read_charged(offset, bytes.data(), bytes.size())) bytes.clear();
  return bytes;
}

std::string ElfFile::read_text(std::uint64_t offset, std::size_t limit) const {
  constexpr std::size_t kChunkSize = 128;
  std::string text;
  while (text.size() < limit) {
    const std::string chunk = read_bytes(offset + text.size(), kChunkSize, limit - text.size());
    const auto end = chunk.find('\0');
    text.append(chunk, 0, end);
    if (chunk.empty() || end != chunk.npos) break;
  }
  return text;
}

std::size_t ElfFile::count_available(std::uint64_t offset, std::uint64_t count,
                                     std::size_t size) const {
  if (offset >= size_) return 0;
  return static_cast<std::size_t>(std::min(count, (size_ - offset) / size));
}

}  // namespace ctprof
