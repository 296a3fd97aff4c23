#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"

#include <string.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kMaxSymbols = 8'000'000;
constexpr std::uint64_t kMaxNames = 256ULL << 20;
// Of a symbol; a longer one means nothing to us.
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMaxPairs = 64;

// Symbols are looked at in pieces: memory for all at once would come from the kernel anew for each
// file.
constexpr std::uint64_t kPiece = 1024;

struct Table {
  std::uint64_t symbols_at, count;
  std::vector<char> names;

  std::string_view name(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names.size()) return {};
    const char* from = names.data() + symbol.st_name;
    const std::size_t most = std::min(names.size() - symbol.st_name, kLongestName);
    const std::size_t size = ::strnlen(from, most);
    return size < most ? std::string_view(from, size) : std::string_view{};
  }
};

bool defined(const Elf64_Sym& symbol) { return symbol.st_shndx != SHN_UNDEF; }
bool is_function(const Elf64_Sym& symbol) {
  return defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
}
bool is_thread_local(const Elf64_Sym& symbol) {
  return defined(symbol) && ELF64_ST_TYPE(symbol.st_info) == STT_TLS;
}

// Most names fall by their last letter.
bool ends_in(std::string_view name, std::string_view end) {
  return !name.empty() && name.back() == end.back() && name.ends_with(end);
}

class Gathered {
 public:
  void add(const Elf64_Sym& symbol, std::string_view name) {
    if (is_thread_local(symbol) && (name == "tsd_tls" || name.ends_with("_tsd_tls")))
      result_.tsd_offset = result_.tsd_offset.value_or(symbol.st_value);
    if (!is_function(symbol)) return;
    if (ends_in(name, "mallctl")) result_.mallctl = true;
    add_function(symbol, name, "malloc", &MallocAndFree::malloc);
    add_function(symbol, name, "free", &MallocAndFree::free);
  }

  Symbols result() {
    for (auto& [prefix, pair] : pairs_)
      if (pair.malloc.address != 0 && pair.free.address != 0)
        result_.pairs.push_back({prefix, pair.malloc, pair.free});
    std::stable_partition(result_.pairs.begin(), result_.pairs.end(),
                          [](const MallocAndFree& p) { return !p.prefix.empty(); });
    return std::move(result_);
  }

 private:
  void add_function(const Elf64_Sym& symbol, std::string_view name, std::string_view end,
                    Function MallocAndFree::*which) {
    if (!ends_in(name, end)) return;
    name.remove_suffix(end.size());
    const bool full = pairs_.size() >= kMaxPairs && !name.empty();
    if (full && !pairs_.contains(std::string(name))) return;
    Function& function = pairs_[std::string(name)].*which;
    if (function.address == 0) function = {symbol.st_value, symbol.st_size};
  }

  Symbols result_;
  std::map<std::string, MallocAndFree> pairs_;
};

Symbols gather(const ElfFile& file, const Table& table) {
  Gathered gathered;
  for (std::uint64_t done = 0; done < table.count;) {
    const std::uint64_t wanted = std::min(kPiece, table.count - done);
    const auto piece =
        file.table<Elf64_Sym>(table.symbols_at + done * sizeof(Elf64_Sym), wanted, wanted);
    for (const Elf64_Sym& symbol : piece)
      if (is_function(symbol) || is_thread_local(symbol)) gathered.add(symbol, table.name(symbol));
    if (piece.size() < wanted) break;
    done += wanted;
  }
  return gathered.result();
}

}  // namespace

// Nothing in the dynamic section tells how many symbols there are. All linkers put the names behind
// the symbols; what stands between the two is read as symbols too: behind the real ones, of which
// the first of a name counts.
Symbols dynamic_symbols(const ElfFile& file) {
  const auto symbols = file.dynamic(DT_SYMTAB);
  const auto names = file.dynamic(DT_STRTAB);
  const auto size = file.dynamic(DT_STRSZ);
  if (!symbols || !names || !size || *names <= *symbols) return {};
  const auto symbols_at = file.offset_of(*symbols);
  const auto names_at = file.offset_of(*names);
  if (!symbols_at || !names_at) return {};
  const std::uint64_t count = std::min((*names - *symbols) / sizeof(Elf64_Sym), kMaxSymbols);
  return gather(file, {*symbols_at, count, file.table<char>(*names_at, *size, kMaxNames)});
}

Symbols static_symbols(const ElfFile& file) {
  const auto sections = file.sections();
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const std::uint64_t count = std::min(section.sh_size / sizeof(Elf64_Sym), kMaxSymbols);
    return gather(file, {section.sh_offset, count,
                         file.table<char>(names.sh_offset, names.sh_size, kMaxNames)});
  }
  return {};
}

}  // namespace ctprof::jemalloc
