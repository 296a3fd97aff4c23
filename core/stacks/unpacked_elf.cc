#include "core/stacks/unpacked_elf.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/elf/elf_image.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kMaxSectionNameTableBytes = 1 << 20;
// ELFCOMPRESS_ZSTD, which older headers lack.
constexpr std::uint32_t kPackedByZstd = 2;

sdk::Fd write_to_memory_file(const std::string& image) {
  sdk::Fd fd(::memfd_create("elf", MFD_CLOEXEC));
  for (std::size_t done = 0; fd && done < image.size();) {
    const ssize_t written = ::write(fd.get(), image.data() + done, image.size() - done);
    if (written <= 0) return sdk::Fd();
    done += static_cast<std::size_t>(written);
  }
  return fd;
}

std::optional<Elf64_Chdr> read_compression_header(const ElfFile& file, const Elf64_Shdr& section) {
  Elf64_Chdr compression{};
  if ((section.sh_flags & SHF_COMPRESSED) == 0 || section.sh_type == SHT_NOBITS ||
      !file.read(section.sh_offset, &compression, sizeof compression))
    return std::nullopt;
  return compression;
}

// The sections that a copy of a file needs.
class NeededSections {
 public:
  NeededSections(const ElfFile& file, SectionKind kind)
      : file_(file), kind_(kind), all_(file.sections()) {
    if (kind == SectionKind::DebugInformation && file_.header().e_shstrndx < all_.size()) {
      const Elf64_Shdr& names = all_[file_.header().e_shstrndx];
      names_ = file.read_bytes(names.sh_offset, names.sh_size, kMaxSectionNameTableBytes);
    }
  }

  const std::vector<Elf64_Shdr>& all() const { return all_; }
  bool is_needed() const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto compression =
          is_wanted(i) ? read_compression_header(file_, all_[i]) : std::nullopt;
      if (compression && (kind_ == SectionKind::Symbols || compression->ch_type == kPackedByZstd))
        return true;
    }
    return false;
  }
  bool has_contents(std::size_t i) const { return is_wanted(i) || i == file_.header().e_shstrndx; }

 private:
  bool is_wanted(std::size_t i) const {
    const Elf64_Shdr& section = all_[i];
    if (kind_ == SectionKind::Symbols)
      return section.sh_type == SHT_SYMTAB || is_symbol_name_section(i);
    const std::string_view name = name_of(section);
    return name.starts_with(".debug_") || name == ".gnu_debugaltlink";
  }
  bool is_symbol_name_section(std::size_t i) const {
    return std::ranges::any_of(all_, [&](const Elf64_Shdr& section) {
      return section.sh_type == SHT_SYMTAB && section.sh_link == i;
    });
  }
  std::string_view name_of(const Elf64_Shdr& section) const {
    const std::string_view rest =
        std::string_view(names_).substr(std::min<std::size_t>(section.sh_name, names_.size()));
    return rest.substr(0, rest.find('\0'));
  }

  const ElfFile& file_;
  SectionKind kind_;
  std::vector<Elf64_Shdr> all_;
  std::string names_;
};

}  // namespace

MemoryElf::MemoryElf(const std::string& image)
    : fd_(write_to_memory_file(image)), file_(fd_.get()) {}

UnpackedElf make_unpacked_elf(const ElfFile& file, SectionKind kind) {
  const NeededSections wanted(file, kind);
  if (!wanted.is_needed()) return {};
  ElfImageBuilder image(file.header());
  std::uint64_t remaining = MemoryElf::kMaxSize;
  for (std::size_t i = 0; i < wanted.all().size(); ++i) {
    Elf64_Shdr section = wanted.all()[i];
    if (!wanted.has_contents(i) || section.sh_type == SHT_NOBITS) {
      image.add(section);
      continue;
    }
    const auto compression = read_compression_header(file, section);
    if (std::max(section.sh_size, compression ? compression->ch_size : 0) > remaining)
      return {nullptr, true};
    std::string bytes = file.read_bytes(section.sh_offset, section.sh_size, remaining);
    if (compression) {
      bytes = unpack_section(bytes, remaining);
      section.sh_flags &= ~std::uint64_t{SHF_COMPRESSED};
      section.sh_addralign = compression->ch_addralign;
    }
    remaining -= std::min<std::uint64_t>(remaining, bytes.size());
    image.add(section, bytes);
  }
  return {std::make_unique<MemoryElf>(std::move(image).take()), false};
}

}  // namespace ctprof
