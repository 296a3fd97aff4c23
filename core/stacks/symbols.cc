#include "core/stacks/symbols.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "core/stacks/cfi.hpp"
#include "core/stacks/demangle.hpp"
#include "core/stacks/go_table.hpp"
#include "core/stacks/plt.hpp"
#include "core/stacks/symbol_search.hpp"
#include "core/stacks/unpack.hpp"
#include "core/stacks/unpacked_elf.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// Limits on a compressed list and on its unpacked size: a hundred bytes for each of 600,000
// functions.
constexpr std::size_t kMaxPackedListBytes = 64 << 20;
// A bit in version numbers: new programs are not linked against this version.
constexpr Elf64_Half kHiddenVersion = 0x8000;

// Removes the version that linkers append to a name: memcpy@@GLIBC_2.14, with one @ for a version
// that is not the default. Only some files contain it.
std::string remove_version(std::string name) {
  if (const std::size_t at = name.find('@', 1); at != name.npos) name.resize(at);
  return name;
}

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

// States whether the lists have all functions of a file or only some.
enum class ListCoverage : std::uint8_t { Complete, Partial };

// Determines from the call frame information where functions without a size end.
class FunctionEnds {
 public:
  FunctionEnds(const ElfFile& file, NameWork& work) : file_(file), work_(work) {}

  // Returns whether the function that begins at `start` includes the address. Without call frame
  // information for the address, returns false for a partial list.
  bool includes(std::uint64_t start, std::uint64_t address, ListCoverage coverage) {
    if (start == address) return true;
    const auto range = find_function(address);
    return range ? start >= range->start : coverage == ListCoverage::Complete;
  }
  std::optional<FunctionRange> find_function(std::uint64_t address) {
    if (!cfi_) {
      cfi_.emplace(file_);
      if (!work_.spend(cfi_->steps())) *cfi_ = Cfi();
    }
    return cfi_->find_function(address);
  }

 private:
  const ElfFile& file_;
  NameWork& work_;
  std::optional<Cfi> cfi_;
};

// Symbols of several lists, searched together.
class FileSymbols {
 public:
  FileSymbols(std::span<const FileAddress> addresses, NameWork& work)
      : search_(addresses, SymbolSearch::NamePolicy::KeepAll), work_(work) {}

  // Adds the lists of this type. If the remaining work is too small for one list, no list is used:
  // the remaining lists might give names of other functions.
  void add_lists(const ElfFile& file, std::uint32_t type) {
    const auto sections = file.sections();
    for (const Elf64_Shdr& list : sections)
      if (list.sh_type == type && list.sh_link < sections.size() && !work_.is_exceeded() &&
          work_.spend(get_list_size(file, list)))
        add_list(file, sections, list);
  }

  // Sets the names that are still empty and that the lists contain.
  void fill_names(ListCoverage coverage, FunctionEnds& ends,
                  std::vector<std::string>& names) const {
    if (work_.is_exceeded()) return;
    const auto symbols =
        search_.find_symbols([&](const SymbolSearch::Symbol& symbol, auto address) {
          return ends.includes(symbol.start, address, coverage);
        });
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].empty() && symbols[i]) names[i] = select_name(*symbols[i]);
  }

 private:
  // A tag consists of the number of the list, these flags, and the offset of the name.
  static constexpr std::uint64_t kIsWeak = 1ULL << 62, kIsOldVersion = 1ULL << 61;
  static constexpr std::uint64_t kMaxLists = 1 << 16;
  // Ranks of names: functions that other files can call come first.
  static constexpr std::uint8_t kLocal = 0, kExported = 1;

  // The location of the names of a list.
  struct NameTable {
    const ElfFile* file;
    std::uint64_t offset, size;
  };
  // A name of a function that has several. Members are in the order of their importance; the
  // smallest name is selected.
  //
  // The result is the name in the source code of callers, if a list contains it. A C library
  // defines a function under a reserved name, which begins with an underscore, and exports the
  // public name as its weak alias: poll of __poll, fwrite of _IO_fwrite, and in static programs
  // pthread_cond_wait of ___pthread_cond_wait. So underscores decide before the binding. The
  // binding then selects memcmp and strchr, of which bcmp and index are weak aliases. perf and
  // elfutils compare the binding first, and show the reserved names; gdb depends on the order of
  // the list.
  struct Alias {
    bool is_old_version;
    std::size_t underscores;
    bool is_weak;
    std::size_t size;
    std::string name;
    auto operator<=>(const Alias&) const = default;
  };

  void add_list(const ElfFile& file, const std::vector<Elf64_Shdr>& sections,
                const Elf64_Shdr& list) {
    constexpr std::uint64_t kChunkSize = 2048;
    if (name_tables_.size() == kMaxLists) return;
    const Elf64_Shdr& texts = sections[list.sh_link];
    name_tables_.push_back({&file, texts.sh_offset, texts.sh_size});
    const std::uint64_t count = list.sh_size / sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < count; at += kChunkSize) {
      const auto chunk = file.read_table<Elf64_Sym>(list.sh_offset + at * sizeof(Elf64_Sym),
                                                    count - at, kChunkSize);
      if (chunk.empty()) break;
      const auto versions = read_versions(file, sections, list, at, chunk.size());
      for (std::size_t i = 0; i < chunk.size(); ++i)
        add_symbol(chunk[i], sections, i < versions.size() && (versions[i] & kHiddenVersion) != 0);
    }
  }

  // Returns the dynamic linker's versions of `count` symbols from number `first` on; may be empty.
  static std::vector<Elf64_Half> read_versions(const ElfFile& file,
                                               const std::vector<Elf64_Shdr>& sections,
                                               const Elf64_Shdr& list, std::uint64_t first,
                                               std::size_t count) {
    if (list.sh_type != SHT_DYNSYM) return {};
    for (const Elf64_Shdr& section : sections)
      if (section.sh_type == SHT_GNU_versym)
        return file.read_table<Elf64_Half>(section.sh_offset + first * sizeof(Elf64_Half), count,
                                           count);
    return {};
  }

  // Adds a symbol. Hand-written code has functions without sizes; they end where their section
  // does.
  void add_symbol(const Elf64_Sym& symbol, const std::vector<Elf64_Shdr>& sections,
                  bool is_old_version) {
    if (!is_function(symbol) || symbol.st_name >= name_tables_.back().size) return;
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    const std::uint64_t tag = (name_tables_.size() - 1) << 32 | symbol.st_name |
                              (binding == STB_WEAK ? kIsWeak : 0) |
                              (is_old_version ? kIsOldVersion : 0);
    const std::uint8_t rank = is_exported(symbol) ? kExported : kLocal;
    if (symbol.st_size != 0) return search_.add(symbol.st_value, symbol.st_size, tag, rank);
    if (symbol.st_shndx >= sections.size()) return;
    const Elf64_Shdr& section = sections[symbol.st_shndx];
    search_.add_unsized(symbol.st_value, section.sh_addr + section.sh_size, tag, rank);
  }

  static bool is_exported(const Elf64_Sym& symbol) {
    const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    return ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
  }

  // Selects a name independently of the order of a list: a current version before an old one, then
  // the name with fewer leading underscores, then a global one before a weak one, then a shorter
  // one. The search has already removed names that are not exported if there is one that is.
  std::string select_name(const SymbolSearch::Symbol& symbol) const {
    if (symbol.other_tags.empty()) return remove_version(read_name(symbol.tag));
    Alias best = make_alias(symbol.tag);
    for (const std::uint64_t tag : symbol.other_tags) best = std::min(best, make_alias(tag));
    return work_.is_exceeded() ? std::string() : best.name;
  }

  Alias make_alias(std::uint64_t tag) const {
    std::string name = read_name(tag);
    const std::size_t version = name.find('@', 1);
    const bool is_old = version != name.npos && !name.substr(version).starts_with("@@");
    name = remove_version(std::move(name));
    return {is_old || (tag & kIsOldVersion) != 0, count_underscores(name), (tag & kIsWeak) != 0,
            name.size(), std::move(name)};
  }

  // Returns the number of leading underscores that mark a reserved name. Those of a mangled name
  // are not in the source code.
  static std::size_t count_underscores(std::string_view name) {
    return is_mangled(name) ? 0 : std::min(name.find_first_not_of('_'), name.size());
  }

  std::string read_name(std::uint64_t tag) const {
    if (work_.is_exceeded()) return {};
    const NameTable& texts = name_tables_[tag >> 32 & (kMaxLists - 1)];
    const auto offset = static_cast<std::uint32_t>(tag);
    std::string name = texts.file->read_text(texts.offset + offset, kMaxFunctionNameSize);
    return work_.spend(name.size() * NameWork::kStepsPerNameByte) ? name : std::string();
  }

  // Returns the size of the part of a list that is within the file.
  static std::uint64_t get_list_size(const ElfFile& file, const Elf64_Shdr& list) {
    return std::min(list.sh_size, file.size() - std::min(list.sh_offset, file.size()));
  }

  SymbolSearch search_;
  std::vector<NameTable> name_tables_;
  NameWork& work_;
};

bool all_are_named(const std::vector<std::string>& names) {
  return std::ranges::none_of(names, &std::string::empty);
}

// Unpacks the small compressed ELF file in the file, which lists functions that .dynsym lacks;
// empty if there is none.
std::string unpack_function_list(const ElfFile& file, NameWork& work) {
  const auto section = file.section(".gnu_debugdata");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  const std::uint64_t max_size = std::min<std::uint64_t>(
      kMaxPackedListBytes, work.get_remaining_steps() / NameWork::kStepsPerUnpackedByte);
  const std::string bytes =
      file.read_bytes(section->sh_offset, section->sh_size, kMaxPackedListBytes);
  UnpackedXz unpacked = unpack_xz(bytes, max_size - std::min(max_size, bytes.size()));
  const std::size_t done = bytes.size() + unpacked.produced_bytes;
  if (work.spend(done * NameWork::kStepsPerUnpackedByte) && !unpacked.is_too_large)
    return std::move(unpacked.bytes);
  work.exceed();
  return {};
}

// Sets names from .dynsym and .gnu_debugdata. The latter has the functions that .dynsym lacks:
// together they are complete, .dynsym alone is partial.
void fill_from_dynsym_and_debugdata(std::span<const ElfFile* const> files, FunctionEnds& ends,
                                    std::span<const FileAddress> addresses,
                                    std::vector<std::string>& names, NameWork& work) {
  std::vector<std::string> texts;
  for (const ElfFile* file : files)
    texts.push_back(work.is_exceeded() ? std::string() : unpack_function_list(*file, work));
  std::deque<ElfFile> unpacked;
  FileSymbols symbols(addresses, work);
  for (const std::string& text : texts)
    symbols.add_lists(unpacked.emplace_back(std::string_view(text)), SHT_SYMTAB);
  for (const ElfFile* file : files) symbols.add_lists(*file, SHT_DYNSYM);
  const bool is_complete = !std::ranges::all_of(texts, &std::string::empty);
  symbols.fill_names(is_complete ? ListCoverage::Complete : ListCoverage::Partial, ends, names);
}

// Names the function at the entry point of a program: it has this name in every C library.
void fill_start(const ElfFile& file, FunctionEnds& ends, std::span<const FileAddress> addresses,
                std::vector<std::string>& names) {
  if (file.entry() == 0 || addresses.empty() || !file.is_program()) return;
  const auto start = ends.find_function(file.entry());
  if (!start || start->start != file.entry()) return;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() && addresses[i] >= start->start &&
        addresses[i] - start->start < start->size)
      names[i] = "_start";
}

void fill_from_go_table(const ElfFile& file, std::span<const FileAddress> addresses,
                        std::vector<std::string>& names, NameWork& work) {
  const std::shared_ptr<const GoTable> shared = get_shared_go_table(file);
  const GoTable& table = *shared;
  if (!table.has_functions() || !work.spend(table.get_memory_size())) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = table.find_name(addresses[i]).substr(0, kMaxFunctionNameSize);
    if (work.spend(name.size() * NameWork::kStepsPerNameByte)) names[i] = name;
  }
}

// Returns a copy of the file with unpacked symbols if its list of symbols is compressed.
UnpackedElf unpack_symbols(const ElfFile& file, NameWork& work) {
  UnpackedElf unpacked = make_unpacked_elf(file, SectionKind::Symbols);
  const std::uint64_t size = unpacked.elf ? unpacked.elf->file().size() : 0;
  if (unpacked.is_too_large || !work.spend(size)) work.exceed();
  return unpacked;
}

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_complete = error == std::errc{} && end == text.data() + text.size();
  return is_complete ? std::optional(value) : std::nullopt;
}

// Returns the line that begins at this position. Tags of symbols are positions of names in the
// text.
std::string_view get_line(std::string_view text, std::uint64_t at) {
  std::string_view rest = text.substr(at, kMaxFunctionNameSize);
  return sdk::take(rest, '\n');
}

std::vector<std::string> get_names(std::string_view text, const SymbolSearch& search,
                                   NameWork& work) {
  std::vector<std::string> names;
  for (const auto* symbol : search.find_symbols([](const auto&, std::uint64_t) { return true; })) {
    const auto name = symbol ? get_line(text, symbol->tag) : std::string_view();
    names.emplace_back(work.spend(name.size() * NameWork::kStepsPerNameByte) ? name : "");
  }
  return names;
}

}  // namespace

std::vector<std::string> find_names_in_file(const ElfFile& file,
                                            std::span<const FileAddress> addresses,
                                            const ElfFile* debug_file, NameWork& work) {
  std::vector<std::string> names(addresses.size());
  fill_from_go_table(file, addresses, names, work);
  const UnpackedElf own = unpack_symbols(file, work);
  const UnpackedElf other = debug_file ? unpack_symbols(*debug_file, work) : UnpackedElf();
  std::vector<const ElfFile*> files{own.elf ? &own.elf->file() : &file};
  if (debug_file) files.push_back(other.elf ? &other.elf->file() : debug_file);
  const auto is_unfinished = [&] { return !work.is_exceeded() && !all_are_named(names); };
  std::vector<const ElfFile*> originals{&file};
  if (debug_file) originals.push_back(debug_file);
  FunctionEnds ends(file, work);
  FileSymbols symtab_symbols(addresses, work);
  for (const ElfFile* symbol_file : files) symtab_symbols.add_lists(*symbol_file, SHT_SYMTAB);
  symtab_symbols.fill_names(ListCoverage::Complete, ends, names);
  if (is_unfinished()) fill_plt_names(file, addresses, names, work);
  if (is_unfinished()) fill_from_dynsym_and_debugdata(originals, ends, addresses, names, work);
  if (is_unfinished()) fill_start(file, ends, addresses, names);
  return names;
}

std::vector<std::string> find_names_in_file(const ElfFile& file,
                                            std::span<const FileAddress> addresses) {
  NameWork work;
  return find_names_in_file(file, addresses, nullptr, work);
}

bool has_symtab(const ElfFile& file) {
  return std::ranges::any_of(
      file.sections(), [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
}

std::vector<std::string> find_names_in_perf_map(std::string_view text,
                                                std::span<const std::uint64_t> addresses,
                                                NameWork& work) {
  if (!work.spend(text.size() * NameWork::kStepsPerTextByte))
    return std::vector<std::string>(addresses.size());
  SymbolSearch search(addresses, SymbolSearch::NamePolicy::KeepLast);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = sdk::take(rest, '\n');
    const auto start = parse_hexadecimal(sdk::take(line, ' '));
    const auto size = parse_hexadecimal(sdk::take(line, ' '));
    const auto name = static_cast<std::uint64_t>(line.data() - text.data());
    if (start && size && *size != 0 && !line.empty()) search.add(*start, *size, name);
  }
  return get_names(text, search, work);
}

std::vector<std::string> find_names_in_perf_map(std::string_view text,
                                                std::span<const std::uint64_t> addresses) {
  NameWork work;
  return find_names_in_perf_map(text, addresses, work);
}

std::vector<std::string> find_names_in_kallsyms(std::string_view text,
                                                std::span<const std::uint64_t> addresses) {
  constexpr std::string_view kCode = "tTwW";
  SymbolSearch search(addresses, SymbolSearch::NamePolicy::KeepLast);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = sdk::take(rest, '\n');
    const auto start = parse_hexadecimal(sdk::take(line, ' '));
    const std::string_view type = sdk::take(line, ' ');
    const auto name = static_cast<std::uint64_t>(line.data() - text.data());
    if (start && *start != 0 && type.size() == 1 && kCode.find(type) != kCode.npos)
      search.add_unsized(*start, UINT64_MAX, name);
  }
  NameWork work;
  std::vector<std::string> names = get_names(text, search, work);
  for (std::string& name : names) std::ranges::replace(name, '\t', ' ');
  return names;
}

}  // namespace ctprof
