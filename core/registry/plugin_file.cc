#include "core/registry/plugin_file.hpp"

#include <elf.h>
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
#include "core/elf/elf_file.hpp"
#include "core/registry/shared_object.hpp"
#include "ctprof/abi.h"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_NONE;  // not checked here, but by the dynamic loader
#endif

// Headers, names and symbols of a plugin are in its first bytes.
constexpr std::size_t kStartSize = 4096;

Error beyond_end_error(std::string_view parts) {
  return {"it is truncated, because " + std::string(parts) + " beyond the end of the file"};
}
Error damaged_error(std::string_view fault) {
  return {"it is damaged, because " + std::string(fault)};
}

// Returns whether the dynamic loader maps bytes of the file for a segment. A segment without bytes
// in the file may have any offset, unless it starts within a page: the loader maps whole pages, and
// zeroes the rest of that page.
bool is_mapped_from_file(const Elf64_Phdr& segment) {
  return segment.p_filesz > 0 ||
         (segment.p_type == PT_LOAD &&
          segment.p_vaddr % static_cast<std::uint64_t>(::getpagesize()) != 0);
}

// The dynamic loader reads these segments through their mapping.
bool is_read_by_loader(const Elf64_Phdr& segment) {
  return segment.p_type == PT_DYNAMIC || segment.p_type == PT_NOTE ||
         segment.p_type == PT_GNU_PROPERTY;
}

Result<void> check_kind(const ElfFile& file) {
  if (file.kind() == ElfKind::None) return Error{"it is not an ELF shared object"};
  if (!file.is_valid() || (kMachine != EM_NONE && file.machine() != kMachine))
    return Error{"it is built for another architecture"};
  if (file.header().e_type != ET_DYN) return Error{"it is an ELF file, but not a shared object"};
  return {};
}

Result<void> check_segments(const ElfFile& file) {
  const std::uint64_t file_size = file.size();
  for (const Elf64_Phdr& segment : file.segments()) {
    if (is_mapped_from_file(segment) &&
        (segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset))
      return beyond_end_error("one of its segments is");
    if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz)
      return damaged_error("one of its segments is larger in the file than in memory");
    if (is_read_by_loader(segment) && segment.p_filesz > 0 &&
        !file.find_file_offset(segment.p_vaddr, segment.p_filesz))
      return damaged_error("a segment that the dynamic loader reads is not mapped");
  }
  return {};
}

// The error does not name the file: "it is truncated, because ...".
Result<void> check_headers(const ElfFile& file) {
  CTPROF_TRY(check_kind(file));
  const Elf64_Ehdr& header = file.header();
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > ElfFile::kMaxSegments)
    return damaged_error("its program headers have an invalid size or number");
  if (file.segments().size() != header.e_phnum) return beyond_end_error("its program headers are");
  return check_segments(file);
}

template <class T>
bool read_at_address(const ElfFile& file, std::uint64_t address, T& item) {
  const auto offset = file.find_file_offset(address, sizeof item);
  return offset && file.read(*offset, &item, sizeof item);
}

constexpr const char* kSymbol = "ctprof_plugin";
constexpr const char* kOutputSymbol = "ctprof_output";

// A shared object has a few names per hash value.
constexpr std::size_t kMaxNamesPerHash = 1024;

// The required entries of the dynamic section. Addresses are those of the file, before relocation.
class DynamicSection {
 public:
  explicit DynamicSection(const ElfFile& file) : file_(file) {}

  Result<void> read() {
    if (!file_.segment(PT_DYNAMIC))
      return Error{"it has no dynamic section, so it is not a shared object"};
    for (const Elf64_Dyn& entry : file_.dynamic_entries()) {
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
  std::optional<Elf64_Sym> find_symbol(const char* symbol_name) const {
    return gnu_hash_ ? find_by_gnu_hash(symbol_name) : find_by_sysv_hash(symbol_name);
  }

 private:
  void take_entry(const Elf64_Dyn& entry) {
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
    Elf64_Sym first{};
    if (!file_.find_file_offset(strings_, strings_size_) ||
        !read_at_address(file_, symbols_, first))
      return damaged_error("its names or symbols are outside its mapped segments");
    return {};
  }

  std::optional<std::string> read_name(std::uint64_t offset) const {
    if (offset >= strings_size_) return std::nullopt;
    std::array<char, PATH_MAX> text;
    const std::size_t size = std::min<std::uint64_t>(text.size(), strings_size_ - offset);
    const auto file_offset = file_.find_file_offset(strings_ + offset, size);
    if (!file_offset || !file_.read(*file_offset, text.data(), size)) return std::nullopt;
    const void* end = std::memchr(text.data(), '\0', size);
    return end ? std::optional(std::string(text.data())) : std::nullopt;
  }

  std::optional<Elf64_Sym> read_matching_symbol(std::uint32_t index,
                                                const char* symbol_name) const {
    Elf64_Sym symbol{};
    if (!read_at_address(file_, symbols_ + std::uint64_t{index} * sizeof symbol, symbol) ||
        symbol.st_shndx == SHN_UNDEF || read_name(symbol.st_name) != symbol_name)
      return std::nullopt;
    return symbol;
  }

  std::uint32_t read_word(std::uint64_t address) const {
    std::uint32_t word = 0;
    read_at_address(file_, address, word);
    return word;
  }

  std::optional<Elf64_Sym> find_by_gnu_hash(const char* symbol_name) const {
    std::uint32_t hash = 5381;
    for (const char* c = symbol_name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t buckets = read_word(gnu_hash_), first = read_word(gnu_hash_ + 4);
    const std::uint64_t table =
        gnu_hash_ + 16 + std::uint64_t{read_word(gnu_hash_ + 8)} * sizeof(Elf64_Addr);
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

  std::optional<Elf64_Sym> find_by_sysv_hash(const char* symbol_name) const {
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

  const ElfFile& file_;
  std::uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, gnu_hash_ = 0, sysv_hash_ = 0;
  std::vector<NameEntry> names_;
};

// Reads the flags of the table. Fields that need no relocation have the same bytes in the file as
// in memory.
ctprof_plugin_flags read_flags(const ElfFile& file, const Elf64_Sym& table) {
  ctprof_plugin_flags flags = 0;
  if (table.st_size >= offsetof(ctprof_plugin, flags) + sizeof flags)
    read_at_address(file, table.st_value + offsetof(ctprof_plugin, flags), flags);
  return flags;
}

// A shared object and its dynamic section.
class SharedObject {
 public:
  explicit SharedObject(int fd) : fd_(fd), elf_(fd), dynamic_(elf_) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  Result<void> read() {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) return Error{std::strerror(errno)};
    if (!S_ISREG(status.st_mode)) return Error{"it is not a regular file"};
    elf_.keep_start(kStartSize);
    CTPROF_TRY(check_headers(elf_));
    return dynamic_.read();
  }
  const ElfFile& elf() const { return elf_; }
  DynamicSection& dynamic() { return dynamic_; }

 private:
  int fd_;
  ElfFile elf_;
  DynamicSection dynamic_;
};

}  // namespace

Result<PluginFile> read_libraries(int fd) {
  SharedObject object(fd);
  CTPROF_TRY(object.read());
  return object.dynamic().read_library_names();
}

bool exports_output(int fd) {
  SharedObject object(fd);
  return object.read() && object.dynamic().find_symbol(kOutputSymbol);
}

Result<PluginFile> read_plugin_file(int fd) {
  SharedObject object(fd);
  CTPROF_TRY(object.read());
  DynamicSection& dynamic = object.dynamic();
  CTPROF_TRY_VALUE(auto file, dynamic.read_library_names());
  const auto table = dynamic.find_symbol(kSymbol);
  if (!table) return Error{std::string("it exports no symbol '") + kSymbol + "'"};
  const ctprof_plugin_flags flags = read_flags(object.elf(), *table);
  file.is_layout = (flags & CTPROF_PLUGIN_LAYOUT) != 0;
  file.opens_early = (flags & CTPROF_PLUGIN_AHEAD) != 0;
  file.is_recorder = (flags & CTPROF_PLUGIN_RECORDER) != 0;
  return file;
}

}  // namespace ctprof
