#include "plugins/jemalloc-ptrace/finder/tls_slots.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kMaxRelocations = 4'000'000;
constexpr std::size_t kMaxSlots = 4096;

struct Kinds {
  std::uint32_t distance;
  std::uint32_t module;
  std::uint32_t descriptor;
};

std::optional<Kinds> kinds_of(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return Kinds{R_X86_64_TPOFF64, R_X86_64_DTPMOD64, R_X86_64_TLSDESC};
    case EM_AARCH64: return Kinds{R_AARCH64_TLS_TPREL, R_AARCH64_TLS_DTPMOD, R_AARCH64_TLSDESC};
    default: return std::nullopt;
  }
}

// A relocation may name a variable of the file; one of another file tells nothing about ours.
std::optional<std::int64_t> variable_at(const ElfFile& file, const Elf64_Rela& relocation) {
  const std::uint64_t index = ELF64_R_SYM(relocation.r_info);
  if (index == 0) return relocation.r_addend;
  const auto symbols = file.dynamic(DT_SYMTAB);
  const auto at = symbols ? file.offset_of(*symbols + index * sizeof(Elf64_Sym)) : std::nullopt;
  Elf64_Sym symbol{};
  if (!at || !file.read(*at, &symbol, sizeof symbol) || symbol.st_shndx == SHN_UNDEF)
    return std::nullopt;
  return static_cast<std::int64_t>(symbol.st_value +
                                   static_cast<std::uint64_t>(relocation.r_addend));
}

void add(const ElfFile& file, const Elf64_Rela& relocation, const Kinds& kinds, TlsSlots& found) {
  const std::uint32_t kind = ELF64_R_TYPE(relocation.r_info);
  if (kind == kinds.module || kind == kinds.descriptor) found.by_module = true;
  if (kind != kinds.distance || found.slots.size() >= kMaxSlots) return;
  if (const auto offset = variable_at(file, relocation))
    found.slots.push_back({relocation.r_offset, *offset});
}

void add_all(const ElfFile& file, std::int64_t table, std::int64_t size, const Kinds& kinds,
             TlsSlots& found) {
  const auto address = file.dynamic(table);
  const auto bytes = file.dynamic(size);
  const auto offset = address && bytes ? file.offset_of(*address) : std::nullopt;
  if (!offset) return;
  for (const auto& relocation :
       file.table<Elf64_Rela>(*offset, *bytes / sizeof(Elf64_Rela), kMaxRelocations))
    add(file, relocation, kinds, found);
}

std::uint64_t misalignment(std::uint64_t address, std::uint64_t alignment) {
  return alignment == 0 ? 0 : address & (alignment - 1);
}

}  // namespace

TlsSlots tls_slots(const ElfFile& file) {
  TlsSlots found;
  if (const auto kinds = kinds_of(file.machine())) {
    add_all(file, DT_RELA, DT_RELASZ, *kinds, found);
    add_all(file, DT_JMPREL, DT_PLTRELSZ, *kinds, found);
  }
  return found;
}

// x86_64 has the segment end at the thread pointer, aarch64 has it begin behind two words there;
// both keep the segment's alignment.
std::optional<std::int64_t> program_tls_start(std::uint16_t machine, const Elf64_Phdr& tls) {
  constexpr std::uint64_t kTwoWords = 16;
  switch (machine) {
    case EM_X86_64:
      return static_cast<std::int64_t>(0 - tls.p_memsz -
                                       misalignment(0 - tls.p_vaddr - tls.p_memsz, tls.p_align));
    case EM_AARCH64:
      return static_cast<std::int64_t>(kTwoWords +
                                       misalignment(tls.p_vaddr - kTwoWords, tls.p_align));
    default: return std::nullopt;
  }
}

}  // namespace ctprof::jemalloc
