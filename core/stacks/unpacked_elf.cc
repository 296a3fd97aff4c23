#include "core/stacks/unpacked_elf.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

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

// Builds an ELF image: a header, the sections one after another, then the section table.
class ElfImage {
 public:
  explicit ElfImage(Elf64_Ehdr header) : header_(header) { image_.resize(sizeof header); }

  std::size_t size() const { return image_.size(); }
  void add(Elf64_Shdr section, std::string_view bytes) {
    constexpr std::size_t kAlignment = 16;
    image_.resize((image_.size() + kAlignment - 1) / kAlignment * kAlignment);
    section.sh_offset = image_.size();
    section.sh_size = bytes.size();
    image_ += bytes;
    sections_.push_back(section);
  }
  // Adds a section without contents.
  void add(Elf64_Shdr section) {
    if (section.sh_type != SHT_NULL) section.sh_type = SHT_NOBITS;
    sections_.push_back(section);
  }

  std::string take() && {
    header_.e_phoff = header_.e_phnum = 0;
    header_.e_shoff = image_.size();
    header_.e_shentsize = sizeof(Elf64_Shdr);
    image_.append(reinterpret_cast<const char*>(sections_.data()),
                  sections_.size() * sizeof(Elf64_Shdr));
    std::memcpy(image_.data(), &header_, sizeof header_);
    return std::move(image_);
  }

 private:
  Elf64_Ehdr header_;
  std::string image_;
  std::vector<Elf64_Shdr> sections_;
};

// The sections that a copy of a file needs.
class NeededSections {
 public:
  NeededSections(const ElfFile& file, SectionKind kind)
      : file_(file), kind_(kind), all_(file.sections()) {
    file.read(0, &header_, sizeof header_);
    if (kind == SectionKind::DebugInformation && header_.e_shstrndx < all_.size()) {
      const Elf64_Shdr& names = all_[header_.e_shstrndx];
      names_ = file.read_bytes(names.sh_offset, names.sh_size, kMaxSectionNameTableBytes);
    }
  }

  const Elf64_Ehdr& header() const { return header_; }
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
  bool has_contents(std::size_t i) const { return is_wanted(i) || i == header_.e_shstrndx; }

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
  Elf64_Ehdr header_{};
  std::string names_;
};

}  // namespace

MemoryElf::MemoryElf(const std::string& image)
    : fd_(write_to_memory_file(image)), file_(fd_.get()) {}

UnpackedElf make_unpacked_elf(const ElfFile& file, SectionKind kind) {
  const NeededSections wanted(file, kind);
  if (!wanted.is_needed()) return {};
  ElfImage image(wanted.header());
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

std::unique_ptr<MemoryElf> build_elf(
    std::uint16_t machine, const std::vector<std::pair<std::string, std::string>>& sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shnum = static_cast<std::uint16_t>(sections.size() + 2);
  header.e_shstrndx = static_cast<std::uint16_t>(sections.size() + 1);
  ElfImage image(header);
  std::string names(1, '\0');
  image.add(Elf64_Shdr{});
  for (const auto& [name, bytes] : sections) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<std::uint32_t>(names.size());
    section.sh_type = SHT_PROGBITS;
    section.sh_addralign = 1;
    names += name + '\0';
    image.add(section, bytes);
  }
  Elf64_Shdr last{};
  last.sh_name = static_cast<std::uint32_t>(names.size());
  last.sh_type = SHT_STRTAB;
  last.sh_addralign = 1;
  names += std::string(".shstrtab") + '\0';
  image.add(last, names);
  return std::make_unique<MemoryElf>(std::move(image).take());
}

}  // namespace ctprof
