#include "core/stacks/symbols.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>

#include "core/stacks/unpack.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kUnsizedReach = 64 << 10;
// Of a packed list, and of what it unpacks to: a hundred bytes for each of 600,000 functions.
constexpr std::size_t kMostPacked = 64 << 20;
constexpr std::uint64_t kNoTag = std::numeric_limits<std::uint64_t>::max();

// Where a symbol begins and ends, and where its name is.
struct Symbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t tag = kNoTag;

  bool reaches(std::uint64_t address) const { return tag != kNoTag && address < end; }
};

// Finds the symbols of sorted addresses, in time that the symbols cannot choose: of those that
// begin between two addresses, only the nearest and the one that reaches farthest are kept.
class Search {
 public:
  explicit Search(std::span<const std::uint64_t> addresses)
      : addresses_(addresses), nearest_(addresses.size()), farthest_(addresses.size()) {}

  void add(std::uint64_t start, std::uint64_t size, std::uint64_t tag) {
    const Symbol symbol{start, end_of(start, size), tag};
    Symbol* farthest = note(symbol);
    if (farthest && symbol.end > farthest->end) *farthest = symbol;
  }
  // One without a size, which reaches up to the next, but not beyond `limit`.
  void add_unsized(std::uint64_t start, std::uint64_t limit, std::uint64_t tag) {
    note({start, std::min(end_of(start, kUnsizedReach), limit), tag});
  }

  // The tag for each address; kNoTag: no symbol reaches it.
  std::vector<std::uint64_t> tags() const {
    std::vector<std::uint64_t> tags;
    Symbol near;
    Symbol far;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      if (nearest_[i].tag != kNoTag) near = nearest_[i];
      if (farthest_[i].end > far.end) far = farthest_[i];
      const Symbol& reaching = near.reaches(addresses_[i]) ? near : far;
      tags.push_back(reaching.reaches(addresses_[i]) ? reaching.tag : kNoTag);
    }
    return tags;
  }

 private:
  static std::uint64_t end_of(std::uint64_t start, std::uint64_t size) {
    return start + std::min(size, UINT64_MAX - start);
  }

  // Takes it for the nearest, if it is; returns where the one that reaches farthest is kept. Null:
  // no address is as high.
  Symbol* note(const Symbol& symbol) {
    const auto first = std::ranges::lower_bound(addresses_, symbol.start);
    if (first == addresses_.end()) return nullptr;
    const auto at = static_cast<std::size_t>(first - addresses_.begin());
    if (nearest_[at].tag == kNoTag || symbol.start >= nearest_[at].start) nearest_[at] = symbol;
    return &farthest_[at];
  }

  std::span<const std::uint64_t> addresses_;
  std::vector<Symbol> nearest_, farthest_;  // of those that begin at [i] or before, after [i - 1]
};

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

// The symbols of a file, by the sections that list them.
class FileSymbols {
 public:
  explicit FileSymbols(const ElfFile& file) : file_(file), sections_(file.sections()) {}

  // Fills in the names that lists of this type tell, where there are none yet.
  void fill(std::uint32_t type, std::span<const FileAddress> addresses,
            std::vector<std::string>& names) const {
    for (const Elf64_Shdr& list : sections_)
      if (list.sh_type == type && list.sh_link < sections_.size())
        fill(sections_[list.sh_link], search(list, addresses), names);
  }

 private:
  void fill(const Elf64_Shdr& texts, const std::vector<std::uint64_t>& tags,
            std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].empty() && tags[i] < texts.sh_size)
        names[i] = file_.text(texts.sh_offset + tags[i], kLongestFunctionName);
  }

  std::vector<std::uint64_t> search(const Elf64_Shdr& list,
                                    std::span<const FileAddress> addresses) const {
    constexpr std::uint64_t kPiece = 2048;
    Search search(addresses);
    const std::uint64_t count = list.sh_size / sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < count; at += kPiece) {
      const auto piece =
          file_.table<Elf64_Sym>(list.sh_offset + at * sizeof(Elf64_Sym), count - at, kPiece);
      if (piece.empty()) break;
      for (const Elf64_Sym& symbol : piece) add(symbol, search);
    }
    return search.tags();
  }

  // Hand-written code has functions without sizes; they end where their section does.
  void add(const Elf64_Sym& symbol, Search& search) const {
    if (!is_function(symbol)) return;
    if (symbol.st_size != 0) return search.add(symbol.st_value, symbol.st_size, symbol.st_name);
    if (symbol.st_shndx >= sections_.size()) return;
    const Elf64_Shdr& section = sections_[symbol.st_shndx];
    search.add_unsized(symbol.st_value, section.sh_addr + section.sh_size, symbol.st_name);
  }

  const ElfFile& file_;
  std::vector<Elf64_Shdr> sections_;
};

bool all_are_named(const std::vector<std::string>& names) {
  return std::ranges::none_of(names, &std::string::empty);
}

// A small ELF file in the file, packed, which lists functions that .dynsym lacks.
void fill_from_packed(const ElfFile& file, std::span<const FileAddress> addresses,
                      std::vector<std::string>& names) {
  const auto section = file.section(".gnu_debugdata");
  if (!section || section->sh_type == SHT_NOBITS) return;
  const std::string image =
      unpacked_xz(file.bytes(section->sh_offset, section->sh_size, kMostPacked), kMostPacked);
  const ElfFile packed(image);
  FileSymbols(packed).fill(SHT_SYMTAB, addresses, names);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

// The line at a place of a text, whose names are told by their places.
std::string_view line_at(std::string_view text, std::uint64_t at) {
  std::string_view rest = text.substr(at, kLongestFunctionName);
  return sdk::take(rest, '\n');
}

std::vector<std::string> names_at(std::string_view text, const std::vector<std::uint64_t>& tags) {
  std::vector<std::string> names;
  for (const std::uint64_t tag : tags)
    names.emplace_back(tag == kNoTag ? std::string_view() : line_at(text, tag));
  return names;
}

}  // namespace

std::vector<std::string> names_in_file(const ElfFile& file, std::span<const FileAddress> addresses,
                                       const ElfFile* stripped) {
  std::vector<std::string> names(addresses.size());
  std::vector<const ElfFile*> files{&file};
  if (stripped) files.push_back(stripped);
  for (const ElfFile* file : files) FileSymbols(*file).fill(SHT_SYMTAB, addresses, names);
  for (const ElfFile* file : files)
    if (!all_are_named(names)) fill_from_packed(*file, addresses, names);
  for (const ElfFile* file : files)
    if (!all_are_named(names)) FileSymbols(*file).fill(SHT_DYNSYM, addresses, names);
  return names;
}

bool is_unstripped(const ElfFile& file) {
  return std::ranges::any_of(
      file.sections(), [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
}

std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses) {
  Search search(addresses);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = sdk::take(rest, '\n');
    const auto start = hexadecimal(sdk::take(line, ' '));
    const auto size = hexadecimal(sdk::take(line, ' '));
    const auto name = static_cast<std::uint64_t>(line.data() - text.data());
    if (start && size && *size != 0 && !line.empty()) search.add(*start, *size, name);
  }
  return names_at(text, search.tags());
}

std::vector<std::string> names_in_kallsyms(std::string_view text,
                                           std::span<const std::uint64_t> addresses) {
  constexpr std::string_view kCode = "tTwW";
  Search search(addresses);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = sdk::take(rest, '\n');
    const auto start = hexadecimal(sdk::take(line, ' '));
    const std::string_view type = sdk::take(line, ' ');
    const auto name = static_cast<std::uint64_t>(line.data() - text.data());
    if (start && *start != 0 && type.size() == 1 && kCode.find(type) != kCode.npos)
      search.add_unsized(*start, UINT64_MAX, name);
  }
  std::vector<std::string> names = names_at(text, search.tags());
  for (std::string& name : names) std::ranges::replace(name, '\t', ' ');
  return names;
}

}  // namespace ctprof
