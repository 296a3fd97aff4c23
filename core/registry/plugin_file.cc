#include "core/registry/plugin_file.hpp"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/shared_object.hpp"
#include "ctprof/abi.h"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// Reads an ELF shared object of this machine: its program headers, checked, and bytes by file
// offset or by address.
//
// Nothing is mapped, so a file that shrinks meanwhile causes an error instead of SIGBUS. Every
// offset is checked against the file's size, and every address against the segments' bytes in the
// file.
class ElfImage {
 public:
  // Does not take ownership of `fd`, which must stay open as long as this object is used.
  ElfImage(int fd, std::uint64_t size) : fd_(fd), size_(size) {
    const auto read = ::pread(fd, file_start_.data(), file_start_.size(), 0);
    file_start_size_ = read > 0 ? static_cast<std::size_t>(read) : 0;
  }

  // Reads and checks the headers. The error does not name the file: "it is cut short: ...".
  // REQUIRES: called before anything else.
  Result<void> read_headers();

  // Returns the segment that contains the dynamic section, or null.
  const ElfW(Phdr) * find_dynamic_segment() const;

  // Returns the file offset of `size` bytes at `address`; nullopt unless one segment contains all
  // of them in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t size) const;

  // Copies `size` bytes to `target`; returns false if the file does not contain all of them.
  bool read_bytes(std::uint64_t offset, void* target, std::size_t size) const;
  template <class T>
  bool read_at_offset(std::uint64_t offset, T& item) const {
    return read_bytes(offset, &item, sizeof item);
  }
  template <class T>
  bool read_at_address(std::uint64_t address, T& item) const {
    const auto offset = offset_of(address, sizeof item);
    return offset && read_at_offset(*offset, item);
  }

 private:
  Result<void> check_kind(const ElfW(Ehdr) & header) const;
  Result<void> check_segments() const;

  int fd_;
  std::uint64_t size_;
  // The start of the file, which contains most of the requested bytes.
  std::array<char, 4096> file_start_;
  std::size_t file_start_size_;
  std::vector<ElfW(Phdr)> segments_;
};

// Returns whether [start, start + size) is within [0, all), without overflow.
inline bool is_within(std::uint64_t start, std::uint64_t size, std::uint64_t limit) {
  return start <= limit && size <= limit - start;
}

constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
#if defined(__x86_64__)
constexpr ElfW(Half) kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) kMachine = EM_AARCH64;
#else
constexpr ElfW(Half) kMachine = EM_NONE;  // not checked here, but by the dynamic loader
#endif

constexpr std::size_t kMaxSegments = 128;  // a shared object has about ten

Error beyond_end_error(std::string_view parts) {
  return {"it is truncated, because " + std::string(parts) + " beyond the end of the file"};
}
Error damaged_error(std::string_view fault) {
  return {"it is damaged, because " + std::string(fault)};
}

// Returns whether the dynamic loader maps bytes of the file for a segment. A segment without bytes
// in the file may have any offset, unless it starts within a page: the loader maps whole pages, and
// zeroes the rest of that page.
bool is_mapped_from_file(const ElfW(Phdr) & segment) {
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
  if (!read_at_offset(0, header)) return Error{"it is not an ELF shared object"};
  CTPROF_TRY(check_kind(header));
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 ||
      header.e_phnum > kMaxSegments)
    return damaged_error("its program headers have an invalid size or number");
  segments_.resize(header.e_phnum);
  if (!read_bytes(header.e_phoff, segments_.data(), segments_.size() * sizeof(ElfW(Phdr))))
    return beyond_end_error("its program headers are");
  return check_segments();
}

Result<void> ElfImage::check_kind(const ElfW(Ehdr) & header) const {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return Error{"it is not an ELF shared object"};
  if (header.e_ident[EI_CLASS] != kClass || header.e_ident[EI_DATA] != kByteOrder ||
      (kMachine != EM_NONE && header.e_machine != kMachine))
    return Error{"it is built for another architecture"};
  if (header.e_type != ET_DYN) return Error{"it is an ELF file, but not a shared object"};
  return {};
}

Result<void> ElfImage::check_segments() const {
  for (const auto& segment : segments_) {
    if (is_mapped_from_file(segment) && !is_within(segment.p_offset, segment.p_filesz, size_))
      return beyond_end_error("one of its segments is");
    if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
      return damaged_error("one of its segments is larger in the file than in memory");
    if (is_read_by_loader(segment) && segment.p_filesz > 0 &&
        !offset_of(segment.p_vaddr, segment.p_filesz))
      return damaged_error("a segment that the dynamic loader reads is not mapped");
  }
  return {};
}

const ElfW(Phdr) * ElfImage::find_dynamic_segment() const {
  for (const auto& segment : segments_)
    if (segment.p_type == PT_DYNAMIC) return &segment;
  return nullptr;
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address, std::uint64_t size) const {
  for (const auto& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        is_within(address - segment.p_vaddr, size, segment.p_filesz))
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

bool ElfImage::read_bytes(std::uint64_t offset, void* target, std::size_t size) const {
  if (!is_within(offset, size, size_)) return false;
  if (size == 0) return true;
  if (is_within(offset, size, file_start_size_)) {
    std::memcpy(target, file_start_.data() + offset, size);
    return true;
  }
  return ::pread(fd_, target, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

namespace {

constexpr const char* kSymbol = "ctprof_plugin";
constexpr const char* kOutputSymbol = "ctprof_output";

// A shared object has about thirty entries in its dynamic section, and a few names per hash value.
constexpr std::size_t kMaxDynamicEntries = 1024;
constexpr std::size_t kMaxNamesPerHash = 1024;

// The required entries of the dynamic section. Addresses are those of the file, before relocation.
class DynamicSection {
 public:
  explicit DynamicSection(const ElfImage& image) : image_(&image) {}

  Result<void> read() {
    const ElfW(Phdr)* segment = image_->find_dynamic_segment();
    if (!segment) return Error{"it has no dynamic section, so it is no shared object"};
    std::vector<ElfW(Dyn)> entries(
        std::min(kMaxDynamicEntries, std::size_t{segment->p_filesz} / sizeof(ElfW(Dyn))));
    const std::size_t size = entries.size() * sizeof(ElfW(Dyn));
    const auto file_offset = image_->offset_of(segment->p_vaddr, size);
    if (!file_offset || !image_->read_bytes(*file_offset, entries.data(), size)) entries.clear();
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_NULL) return check_tables();
      take_entry(entry);
    }
    return damaged_error("its dynamic section has no end");
  }

  Result<PluginFile> read_library_names() const {
    PluginFile file;
    for (const auto& [tag, offset] : names_) {
      const auto text = read_name(offset);
      if (!text) return damaged_error("a name in its dynamic section is outside its string table");
      if (tag != DT_RPATH && tag != DT_RUNPATH) {
        file.libraries.push_back(*text);
        continue;
      }
      std::string_view rest = *text;
      for (bool more = true; more;) {
        more = rest.find(':') != rest.npos;
        file.library_directories.emplace_back(sdk::take(rest, ':'));
      }
    }
    return file;
  }

  // Finds a symbol as the dynamic loader would.
  std::optional<ElfW(Sym)> find_symbol(const char* symbol_name) const {
    return gnu_hash_ ? find_by_gnu_hash(symbol_name) : find_by_sysv_hash(symbol_name);
  }

 private:
  void take_entry(const ElfW(Dyn) & entry) {
    switch (entry.d_tag) {
      case DT_STRTAB: strings_ = entry.d_un.d_ptr; break;
      case DT_STRSZ: strings_size_ = entry.d_un.d_val; break;
      case DT_SYMTAB: symbols_ = entry.d_un.d_ptr; break;
      case DT_GNU_HASH: gnu_hash_ = entry.d_un.d_ptr; break;
      case DT_HASH: sysv_hash_ = entry.d_un.d_ptr; break;
      case DT_NEEDED:
      case DT_AUXILIARY:
      case DT_FILTER:
      case DT_RPATH:
      case DT_RUNPATH: names_.push_back({entry.d_tag, entry.d_un.d_val}); break;
      default: break;
    }
  }

  Result<void> check_tables() const {
    ElfW(Sym) first{};
    if (!image_->offset_of(strings_, strings_size_) || !image_->read_at_address(symbols_, first))
      return damaged_error("its names or symbols are outside its mapped segments");
    return {};
  }

  std::optional<std::string> read_name(std::uint64_t offset) const {
    if (offset >= strings_size_) return std::nullopt;
    std::array<char, PATH_MAX> text;
    const std::size_t size = std::min<std::uint64_t>(text.size(), strings_size_ - offset);
    const auto file_offset = image_->offset_of(strings_ + offset, size);
    if (!file_offset || !image_->read_bytes(*file_offset, text.data(), size)) return std::nullopt;
    const void* end = std::memchr(text.data(), '\0', size);
    return end ? std::optional(std::string(text.data())) : std::nullopt;
  }

  std::optional<ElfW(Sym)> read_matching_symbol(std::uint32_t index,
                                                const char* symbol_name) const {
    ElfW(Sym) read_matching_symbol{};
    if (!image_->read_at_address(symbols_ + std::uint64_t{index} * sizeof read_matching_symbol,
                                 read_matching_symbol))
      return std::nullopt;
    if (read_matching_symbol.st_shndx == SHN_UNDEF ||
        read_name(read_matching_symbol.st_name) != symbol_name)
      return std::nullopt;
    return read_matching_symbol;
  }

  std::uint32_t read_word(std::uint64_t address) const {
    std::uint32_t word = 0;
    image_->read_at_address(address, word);
    return word;
  }

  std::optional<ElfW(Sym)> find_by_gnu_hash(const char* symbol_name) const {
    std::uint32_t hash = 5381;
    for (const char* c = symbol_name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t buckets = read_word(gnu_hash_), first = read_word(gnu_hash_ + 4);
    const std::uint64_t table =
        gnu_hash_ + 16 + std::uint64_t{read_word(gnu_hash_ + 8)} * sizeof(ElfW(Addr));
    if (buckets == 0) return std::nullopt;
    std::uint32_t index = read_word(table + 4 * std::uint64_t{hash % buckets});
    for (std::size_t tries = 0; index >= first && index != 0 && tries < kMaxNamesPerHash;
         ++tries, ++index) {
      const std::uint32_t other = read_word(table + 4 * (std::uint64_t{buckets} + (index - first)));
      if ((other | 1) == (hash | 1))
        if (const auto found = read_matching_symbol(index, symbol_name)) return found;
      if ((other & 1) != 0) break;
    }
    return std::nullopt;
  }

  std::optional<ElfW(Sym)> find_by_sysv_hash(const char* symbol_name) const {
    std::uint32_t hash = 0;
    for (const char* c = symbol_name; *c; ++c) {
      hash = (hash << 4) + static_cast<unsigned char>(*c);
      hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    const std::uint32_t buckets = sysv_hash_ ? read_word(sysv_hash_) : 0;
    if (buckets == 0) return std::nullopt;
    std::uint32_t index = read_word(sysv_hash_ + 4 * (2 + std::uint64_t{hash % buckets}));
    for (std::size_t tries = 0; index != 0 && tries < kMaxNamesPerHash; ++tries) {
      if (const auto found = read_matching_symbol(index, symbol_name)) return found;
      index = read_word(sysv_hash_ + 4 * (2 + std::uint64_t{buckets} + index));
    }
    return std::nullopt;
  }

  struct NameEntry {
    std::int64_t tag;
    std::uint64_t offset;
  };

  const ElfImage* image_;
  std::uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, gnu_hash_ = 0, sysv_hash_ = 0;
  std::vector<NameEntry> names_;
};

// Reads the flags of the table. Fields that need no relocation have the same bytes in the file as
// in memory.
ctprof_plugin_flags read_flags(const ElfImage& image, const ElfW(Sym) & table) {
  ctprof_plugin_flags flags = 0;
  if (table.st_size >= offsetof(ctprof_plugin, flags) + sizeof flags)
    image.read_at_address(table.st_value + offsetof(ctprof_plugin, flags), flags);
  return flags;
}

Result<std::uint64_t> read_size(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Error{std::strerror(errno)};
  if (!S_ISREG(status.st_mode)) return Error{"it is not a regular file"};
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

Result<PluginFile> read_libraries(int fd) {
  CTPROF_TRY_VALUE(const std::uint64_t size, read_size(fd));
  ElfImage image(fd, size);
  CTPROF_TRY(image.read_headers());
  DynamicSection dynamic(image);
  CTPROF_TRY(dynamic.read());
  return dynamic.read_library_names();
}

bool exports_output(int fd) {
  const auto size = read_size(fd);
  if (!size) return false;
  ElfImage image(fd, *size);
  if (!image.read_headers()) return false;
  DynamicSection dynamic(image);
  return dynamic.read() && dynamic.find_symbol(kOutputSymbol);
}

Result<PluginFile> read_plugin_file(int fd) {
  CTPROF_TRY_VALUE(const std::uint64_t size, read_size(fd));
  ElfImage image(fd, size);
  CTPROF_TRY(image.read_headers());
  DynamicSection dynamic(image);
  CTPROF_TRY(dynamic.read());
  CTPROF_TRY_VALUE(auto file, dynamic.read_library_names());
  const auto table = dynamic.find_symbol(kSymbol);
  if (!table) return Error{std::string("it exports no symbol '") + kSymbol + "'"};
  const ctprof_plugin_flags flags = read_flags(image, *table);
  file.is_layout = (flags & CTPROF_PLUGIN_LAYOUT) != 0;
  file.opens_early = (flags & CTPROF_PLUGIN_AHEAD) != 0;
  file.is_recorder = (flags & CTPROF_PLUGIN_RECORDER) != 0;
  return file;
}

}  // namespace ctprof
