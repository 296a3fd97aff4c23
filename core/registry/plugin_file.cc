#include "core/registry/plugin_file.hpp"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/registry/elf_image.hpp"
#include "ctprof/abi.h"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr const char* kSymbol = "ctprof_plugin";

// A shared object has some thirty entries in its dynamic section, and a few names under one hash.
constexpr std::size_t kMostEntries = 1024;
constexpr std::size_t kMostNames = 1024;

Error damaged(std::string_view what) { return {"it is damaged: " + std::string(what)}; }

// The entries of the dynamic section that are needed here. Addresses are those of the file, before
// relocation.
class Dynamic {
 public:
  explicit Dynamic(const ElfImage& image) : image_(&image) {}

  Result<void> read() {
    const ElfW(Phdr)* segment = image_->dynamic();
    if (!segment) return Error{"it has no dynamic section, so it is no shared object"};
    for (std::size_t i = 0; i < kMostEntries && lies_within(i * sizeof(ElfW(Dyn)),
                                                            sizeof(ElfW(Dyn)), segment->p_filesz);
         ++i) {
      ElfW(Dyn) entry{};
      if (!image_->at_address(segment->p_vaddr + i * sizeof entry, entry)) break;
      if (entry.d_tag == DT_NULL) return check_tables();
      take(entry);
    }
    return damaged("its dynamic section has no end");
  }

  Result<PluginFile> names() const {
    PluginFile file;
    for (const auto& [tag, offset] : names_) {
      const auto text = name(offset);
      if (!text) return damaged("a name in its dynamic section lies elsewhere");
      if (tag != DT_RPATH && tag != DT_RUNPATH) {
        file.libraries.push_back(*text);
        continue;
      }
      std::string_view rest = *text;
      for (bool more = true; more;) {
        more = rest.find(':') != rest.npos;
        file.directories.emplace_back(sdk::take(rest, ':'));
      }
    }
    return file;
  }

  // Finds a symbol as the dynamic loader would.
  std::optional<ElfW(Sym)> find(const char* wanted) const {
    return gnu_hash_ ? find_gnu(wanted) : find_sysv(wanted);
  }

 private:
  void take(const ElfW(Dyn) & entry) {
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
    if (!image_->offset_of(strings_, strings_size_) || !image_->at_address(symbols_, first))
      return damaged("its names or symbols are not in what is mapped");
    return {};
  }

  std::optional<std::string> name(std::uint64_t offset) const {
    if (offset >= strings_size_) return std::nullopt;
    std::array<char, PATH_MAX> text;
    const std::size_t size = std::min<std::uint64_t>(text.size(), strings_size_ - offset);
    const auto at = image_->offset_of(strings_ + offset, size);
    if (!at || !image_->bytes(*at, text.data(), size)) return std::nullopt;
    const void* end = std::memchr(text.data(), '\0', size);
    return end ? std::optional(std::string(text.data())) : std::nullopt;
  }

  std::optional<ElfW(Sym)> symbol(std::uint32_t index, const char* wanted) const {
    ElfW(Sym) symbol{};
    if (!image_->at_address(symbols_ + std::uint64_t{index} * sizeof symbol, symbol))
      return std::nullopt;
    if (symbol.st_shndx == SHN_UNDEF || name(symbol.st_name) != wanted) return std::nullopt;
    return symbol;
  }

  std::uint32_t word(std::uint64_t address) const {
    std::uint32_t word = 0;
    image_->at_address(address, word);
    return word;
  }

  std::optional<ElfW(Sym)> find_gnu(const char* wanted) const {
    std::uint32_t hash = 5381;
    for (const char* c = wanted; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t buckets = word(gnu_hash_), first = word(gnu_hash_ + 4);
    const std::uint64_t table =
        gnu_hash_ + 16 + std::uint64_t{word(gnu_hash_ + 8)} * sizeof(ElfW(Addr));
    if (buckets == 0) return std::nullopt;
    std::uint32_t index = word(table + 4 * std::uint64_t{hash % buckets});
    for (std::size_t tries = 0; index >= first && index != 0 && tries < kMostNames;
         ++tries, ++index) {
      const std::uint32_t other = word(table + 4 * (std::uint64_t{buckets} + (index - first)));
      if ((other | 1) == (hash | 1))
        if (const auto found = symbol(index, wanted)) return found;
      if ((other & 1) != 0) break;
    }
    return std::nullopt;
  }

  std::optional<ElfW(Sym)> find_sysv(const char* wanted) const {
    std::uint32_t hash = 0;
    for (const char* c = wanted; *c; ++c) {
      hash = (hash << 4) + static_cast<unsigned char>(*c);
      hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    const std::uint32_t buckets = sysv_hash_ ? word(sysv_hash_) : 0;
    if (buckets == 0) return std::nullopt;
    std::uint32_t index = word(sysv_hash_ + 4 * (2 + std::uint64_t{hash % buckets}));
    for (std::size_t tries = 0; index != 0 && tries < kMostNames; ++tries) {
      if (const auto found = symbol(index, wanted)) return found;
      index = word(sysv_hash_ + 4 * (2 + std::uint64_t{buckets} + index));
    }
    return std::nullopt;
  }

  struct Name {
    std::int64_t tag;
    std::uint64_t offset;
  };

  const ElfImage* image_;
  std::uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, gnu_hash_ = 0, sysv_hash_ = 0;
  std::vector<Name> names_;
};

// Fields of the table that need no relocation have the same bytes in the file as in memory.
bool says_layout(const ElfImage& image, const ElfW(Sym) & table) {
  ctprof_plugin_flags flags = 0;
  const bool has_flags = table.st_size >= offsetof(ctprof_plugin, flags) + sizeof flags;
  return has_flags && image.at_address(table.st_value + offsetof(ctprof_plugin, flags), flags) &&
         (flags & CTPROF_PLUGIN_LAYOUT) != 0;
}

}  // namespace

Result<PluginFile> read_plugin_file(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Error{std::strerror(errno)};
  if (!S_ISREG(status.st_mode)) return Error{"it is not a regular file"};
  ElfImage image(fd, static_cast<std::uint64_t>(status.st_size));
  if (auto read = image.read_headers(); !read) return read.error();
  Dynamic dynamic(image);
  if (auto read = dynamic.read(); !read) return read.error();
  auto file = dynamic.names();
  if (!file) return file;
  const auto table = dynamic.find(kSymbol);
  if (!table) return Error{std::string("it exports no symbol '") + kSymbol + "'"};
  file->layout = says_layout(image, *table);
  return file;
}

}  // namespace ctprof
