#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"

#include <string.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace ctprof::jemalloc {

namespace {

constexpr std::uint64_t kMaxSymbols = 8'000'000;
constexpr std::uint64_t kMaxNames = 256ULL << 20;
// Longer symbol names are ignored.
constexpr std::size_t kMaxSymbolNameSize = 256;
// A program that contains OpenSSL has a thousand names that end in `free`.
constexpr std::size_t kMaxPrefixes = 4096;

// Each function writes one of the two counters on its fast path, in every version; realloc writes
// both. The most frequent functions come first.
constexpr std::array<std::string_view, 3> kAllocatingNames{"malloc", "mallocx", "calloc"};
constexpr std::array<std::string_view, 4> kFreeingNames{"free", "sdallocx", "dallocx", "realloc"};

// Symbols are read in pieces, because memory for all of them would be allocated from the kernel
// again for each file.
constexpr std::uint64_t kSymbolsPerRead = 1024;

struct SymbolTable {
  std::uint64_t symbols_offset, count;
  std::vector<char> names;

  std::string_view name(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names.size()) return {};
    const char* name_start = names.data() + symbol.st_name;
    const std::size_t max_size = std::min(names.size() - symbol.st_name, kMaxSymbolNameSize);
    const std::size_t size = ::strnlen(name_start, max_size);
    return size < max_size ? std::string_view(name_start, size) : std::string_view{};
  }
};

bool is_defined(const Elf64_Sym& symbol) { return symbol.st_shndx != SHN_UNDEF; }
bool is_function(const Elf64_Sym& symbol) {
  return is_defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
}
bool is_thread_local(const Elf64_Sym& symbol) {
  return is_defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_TLS;
}

// Compares the last letter first, which excludes most names.
bool has_suffix(std::string_view name, std::string_view end) {
  return !name.empty() && name.back() == end.back() && name.ends_with(end);
}

class SymbolCollector {
 public:
  void add(const Elf64_Sym& symbol, std::string_view name) {
    if (is_thread_local(symbol) && (name == "tsd_tls" || name.ends_with("_tsd_tls")))
      result_.tsd_offset = result_.tsd_offset.value_or(symbol.st_value);
    if (!is_function(symbol)) return;
    if (has_suffix(name, "mallctl")) result_.has_mallctl = true;
    add_function(symbol, name, kAllocatingNames, &FunctionsByName::allocating);
    add_function(symbol, name, kFreeingNames, &FunctionsByName::freeing);
  }

  Symbols result() {
    for (const auto& [prefix, found] : functions_by_prefix_) {
      AllocatorFunctions functions{prefix, list_existing(found.allocating),
                                   list_existing(found.freeing)};
      if (!functions.allocating.empty() && !functions.freeing.empty())
        result_.allocators.push_back(std::move(functions));
    }
    std::stable_partition(result_.allocators.begin(), result_.allocators.end(),
                          [](const AllocatorFunctions& f) { return !f.prefix.empty(); });
    return std::move(result_);
  }

 private:
  // In the order of the names; address 0: missing.
  struct FunctionsByName {
    std::array<Function, kAllocatingNames.size()> allocating;
    std::array<Function, kFreeingNames.size()> freeing;
  };

  template <std::size_t N>
  void add_function(const Elf64_Sym& symbol, std::string_view name,
                    const std::array<std::string_view, N>& suffixes,
                    std::array<Function, N> FunctionsByName::*functions_member) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!has_suffix(name, suffixes[i])) continue;
      const std::string prefix(name.substr(0, name.size() - suffixes[i].size()));
      const bool is_full = functions_by_prefix_.size() >= kMaxPrefixes && !prefix.empty();
      if (is_full && !functions_by_prefix_.contains(prefix)) return;
      Function& function = (functions_by_prefix_[prefix].*functions_member)[i];
      if (function.address == 0) function = {symbol.st_value, symbol.st_size};
    }
  }

  template <std::size_t N>
  static std::vector<Function> list_existing(const std::array<Function, N>& functions) {
    std::vector<Function> existing;
    std::ranges::copy_if(functions, std::back_inserter(existing),
                         [](const Function& function) { return function.address != 0; });
    return existing;
  }

  Symbols result_;
  std::map<std::string, FunctionsByName> functions_by_prefix_;
};

Symbols collect_symbols(const ElfFile& file, const SymbolTable& table) {
  SymbolCollector collector;
  for (std::uint64_t done = 0; done < table.count;) {
    const std::uint64_t batch_size = std::min(kSymbolsPerRead, table.count - done);
    const auto piece = file.read_table<Elf64_Sym>(table.symbols_offset + done * sizeof(Elf64_Sym),
                                                  batch_size, batch_size);
    for (const Elf64_Sym& symbol : piece)
      if (is_function(symbol) || is_thread_local(symbol)) collector.add(symbol, table.name(symbol));
    if (piece.size() < batch_size) break;
    done += batch_size;
  }
  return collector.result();
}

}  // namespace

// The dynamic section does not contain the number of symbols. All linkers place the names after the
// symbols, so everything up to the names is read as symbols. Bytes in between are read as symbols
// after the real ones, and only the first one of a name counts.
Symbols read_dynamic_symbols(const ElfFile& file) {
  const auto symbols = file.find_dynamic_value(DT_SYMTAB);
  const auto names = file.find_dynamic_value(DT_STRTAB);
  const auto size = file.find_dynamic_value(DT_STRSZ);
  if (!symbols || !names || !size || *names <= *symbols) return {};
  const auto symbols_at = file.find_file_offset(*symbols);
  const auto names_at = file.find_file_offset(*names);
  if (!symbols_at || !names_at) return {};
  const std::uint64_t count = std::min((*names - *symbols) / sizeof(Elf64_Sym), kMaxSymbols);
  return collect_symbols(file,
                         {*symbols_at, count, file.read_table<char>(*names_at, *size, kMaxNames)});
}

Symbols read_static_symbols(const ElfFile& file) {
  const auto sections = file.sections();
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const std::uint64_t count = std::min(section.sh_size / sizeof(Elf64_Sym), kMaxSymbols);
    return collect_symbols(file,
                           {section.sh_offset, count,
                            file.read_table<char>(names.sh_offset, names.sh_size, kMaxNames)});
  }
  return {};
}

namespace {

constexpr std::uint64_t kMaxRelocations = 4'000'000;
constexpr std::size_t kMaxSlots = 4096;

struct RelocationKinds {
  std::uint32_t distance;
  std::uint32_t module;
  std::uint32_t descriptor;
};

std::optional<RelocationKinds> find_relocation_kinds(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return RelocationKinds{R_X86_64_TPOFF64, R_X86_64_DTPMOD64, R_X86_64_TLSDESC};
    case EM_AARCH64:
      return RelocationKinds{R_AARCH64_TLS_TPREL, R_AARCH64_TLS_DTPMOD, R_AARCH64_TLSDESC};
    default: return std::nullopt;
  }
}

// A relocation may refer to a variable of the file; a variable of another file is not relevant.
std::optional<std::int64_t> find_variable_offset(const ElfFile& file,
                                                 const Elf64_Rela& relocation) {
  const std::uint64_t index = ELF64_R_SYM(relocation.r_info);
  if (index == 0) return relocation.r_addend;
  const auto symbols = file.find_dynamic_value(DT_SYMTAB);
  const auto at =
      symbols ? file.find_file_offset(*symbols + index * sizeof(Elf64_Sym)) : std::nullopt;
  Elf64_Sym symbol{};
  if (!at || !file.read(*at, &symbol, sizeof symbol) || symbol.st_shndx == SHN_UNDEF)
    return std::nullopt;
  return static_cast<std::int64_t>(symbol.st_value +
                                   static_cast<std::uint64_t>(relocation.r_addend));
}

void add(const ElfFile& file, const Elf64_Rela& relocation, const RelocationKinds& kinds,
         TlsSlots& found) {
  const std::uint32_t kind = ELF64_R_TYPE(relocation.r_info);
  if (kind == kinds.module || kind == kinds.descriptor) found.uses_module_numbers = true;
  if (kind != kinds.distance || found.slots.size() >= kMaxSlots) return;
  if (const auto offset = find_variable_offset(file, relocation))
    found.slots.push_back({relocation.r_offset, *offset});
}

void add_all(const ElfFile& file, std::int64_t table, std::int64_t size,
             const RelocationKinds& kinds, TlsSlots& found) {
  const auto address = file.find_dynamic_value(table);
  const auto bytes = file.find_dynamic_value(size);
  const auto offset = address && bytes ? file.find_file_offset(*address) : std::nullopt;
  if (!offset) return;
  for (const auto& relocation :
       file.read_table<Elf64_Rela>(*offset, *bytes / sizeof(Elf64_Rela), kMaxRelocations))
    add(file, relocation, kinds, found);
}

std::uint64_t compute_misalignment(std::uint64_t address, std::uint64_t alignment) {
  return alignment == 0 ? 0 : address & (alignment - 1);
}

}  // namespace

TlsSlots read_tls_slots(const ElfFile& file) {
  TlsSlots found;
  if (const auto kinds = find_relocation_kinds(file.machine())) {
    add_all(file, DT_RELA, DT_RELASZ, *kinds, found);
    add_all(file, DT_JMPREL, DT_PLTRELSZ, *kinds, found);
  }
  return found;
}

// On x86_64 the segment ends at the thread pointer, on aarch64 it begins two words after it; both
// respect the segment's alignment.
std::optional<std::int64_t> compute_program_tls_start(std::uint16_t machine,
                                                      const Elf64_Phdr& tls) {
  constexpr std::uint64_t kTwoWords = 16;
  switch (machine) {
    case EM_X86_64:
      return static_cast<std::int64_t>(
          0 - tls.p_memsz - compute_misalignment(0 - tls.p_vaddr - tls.p_memsz, tls.p_align));
    case EM_AARCH64:
      return static_cast<std::int64_t>(kTwoWords +
                                       compute_misalignment(tls.p_vaddr - kTwoWords, tls.p_align));
    default: return std::nullopt;
  }
}

}  // namespace ctprof::jemalloc
