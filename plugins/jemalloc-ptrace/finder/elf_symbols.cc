#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kMaxSymbols = 8'000'000;
constexpr std::uint64_t kMaxNames = 512ULL << 20;
constexpr std::size_t kMaxPairs = 64;

struct Table {
  std::vector<Elf64_Sym> symbols;
  std::vector<char> names;

  std::string_view name(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names.size()) return {};
    const auto from = names.begin() + symbol.st_name;
    const auto end = std::find(from, names.end(), '\0');
    return {&*from, static_cast<std::size_t>(end - from)};
  }
};

bool defined(const Elf64_Sym& symbol) { return symbol.st_shndx != SHN_UNDEF; }
bool is_function(const Elf64_Sym& symbol) { return defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC; }
bool is_thread_local(const Elf64_Sym& symbol) { return defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_TLS; }

class Gathered {
 public:
  void add(const Elf64_Sym& symbol, std::string_view name) {
    if (is_thread_local(symbol) && (name == "tsd_tls" || name.ends_with("_tsd_tls")))
      result_.tsd_offset = result_.tsd_offset.value_or(symbol.st_value);
    if (!is_function(symbol)) return;
    if (name.ends_with("mallctl")) result_.mallctl = true;
    add_function(symbol, name, "malloc", &MallocAndFree::malloc);
    add_function(symbol, name, "free", &MallocAndFree::free);
  }

  Symbols result() {
    for (auto& [prefix, pair] : pairs_)
      if (pair.malloc.address != 0 && pair.free.address != 0) result_.pairs.push_back({prefix, pair.malloc, pair.free});
    std::stable_partition(result_.pairs.begin(), result_.pairs.end(), [](const MallocAndFree& p) { return !p.prefix.empty(); });
    return std::move(result_);
  }

 private:
  void add_function(const Elf64_Sym& symbol, std::string_view name, std::string_view end, Function MallocAndFree::*which) {
    if (!name.ends_with(end)) return;
    name.remove_suffix(end.size());
    const bool full = pairs_.size() >= kMaxPairs && !name.empty();
    if (full && !pairs_.contains(std::string(name))) return;
    Function& function = pairs_[std::string(name)].*which;
    if (function.address == 0) function = {symbol.st_value, symbol.st_size};
  }

  Symbols result_;
  std::map<std::string, MallocAndFree> pairs_;
};

Symbols gather(const Table& table) {
  Gathered gathered;
  for (const Elf64_Sym& symbol : table.symbols)
    if (is_function(symbol) || is_thread_local(symbol)) gathered.add(symbol, table.name(symbol));
  return gathered.result();
}

}  // namespace

// Nothing in the dynamic section tells how many symbols there are. All linkers put the names behind the symbols; what stands between the two
// is read as symbols too: behind the real ones, of which the first of a name counts.
Symbols dynamic_symbols(const ElfFile& file) {
  const auto symbols = file.dynamic(DT_SYMTAB);
  const auto names = file.dynamic(DT_STRTAB);
  const auto size = file.dynamic(DT_STRSZ);
  if (!symbols || !names || !size || *names <= *symbols) return {};
  const auto symbols_at = file.offset_of(*symbols);
  const auto names_at = file.offset_of(*names);
  if (!symbols_at || !names_at) return {};
  return gather({file.table<Elf64_Sym>(*symbols_at, (*names - *symbols) / sizeof(Elf64_Sym), kMaxSymbols),
                 file.table<char>(*names_at, *size, kMaxNames)});
}

Symbols static_symbols(const ElfFile& file) {
  const auto sections = file.sections();
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    return gather({file.table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym), kMaxSymbols),
                   file.table<char>(names.sh_offset, names.sh_size, kMaxNames)});
  }
  return {};
}

}  // namespace ctprof::jemalloc
