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
// Of a symbol; a longer one means nothing to us.
constexpr std::size_t kLongestName = 256;
// A program with OpenSSL in it has a thousand names that end in `free`.
constexpr std::size_t kMaxPrefixes = 4096;

// Each writes one of the two counters on its fast path, in every version; realloc writes both.
// What is likeliest to be there comes first.
constexpr std::array<std::string_view, 3> kAllocating{"malloc", "mallocx", "calloc"};
constexpr std::array<std::string_view, 4> kFreeing{"free", "sdallocx", "dallocx", "realloc"};

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
    add_function(symbol, name, kAllocating, &Found::allocating);
    add_function(symbol, name, kFreeing, &Found::freeing);
  }

  Symbols result() {
    for (const auto& [prefix, found] : found_) {
      AllocatorFunctions functions{prefix, present(found.allocating), present(found.freeing)};
      if (!functions.allocating.empty() && !functions.freeing.empty())
        result_.allocators.push_back(std::move(functions));
    }
    std::stable_partition(result_.allocators.begin(), result_.allocators.end(),
                          [](const AllocatorFunctions& f) { return !f.prefix.empty(); });
    return std::move(result_);
  }

 private:
  // By their place among the names; address 0: not there.
  struct Found {
    std::array<Function, kAllocating.size()> allocating;
    std::array<Function, kFreeing.size()> freeing;
  };

  template <std::size_t N>
  void add_function(const Elf64_Sym& symbol, std::string_view name,
                    const std::array<std::string_view, N>& ends,
                    std::array<Function, N> Found::*which) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!ends_in(name, ends[i])) continue;
      const std::string prefix(name.substr(0, name.size() - ends[i].size()));
      const bool full = found_.size() >= kMaxPrefixes && !prefix.empty();
      if (full && !found_.contains(prefix)) return;
      Function& function = (found_[prefix].*which)[i];
      if (function.address == 0) function = {symbol.st_value, symbol.st_size};
    }
  }

  template <std::size_t N>
  static std::vector<Function> present(const std::array<Function, N>& functions) {
    std::vector<Function> there;
    std::ranges::copy_if(functions, std::back_inserter(there),
                         [](const Function& function) { return function.address != 0; });
    return there;
  }

  Symbols result_;
  std::map<std::string, Found> found_;
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
