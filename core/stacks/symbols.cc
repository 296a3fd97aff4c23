#include "core/stacks/symbols.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>

#include "core/stacks/go_table.hpp"
#include "core/stacks/unpack.hpp"
#include "core/stacks/unpacked_elf.hpp"
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
  FileSymbols(const ElfFile& file, NameWork& work)
      : file_(file), sections_(file.sections()), work_(work) {}

  // Fills in the names that lists of this type tell, where there are none yet. Where there is too
  // little left for a list, lists after it are not asked: they might name other functions.
  void fill(std::uint32_t type, std::span<const FileAddress> addresses,
            std::vector<std::string>& names) const {
    for (const Elf64_Shdr& list : sections_)
      if (list.sh_type == type && list.sh_link < sections_.size() && !work_.is_over() &&
          work_.spend(size_of(list)))
        fill(sections_[list.sh_link], search(list, addresses), names);
  }

 private:
  void fill(const Elf64_Shdr& texts, const std::vector<std::uint64_t>& tags,
            std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].empty() && tags[i] < texts.sh_size)
        names[i] = name_at(texts.sh_offset + tags[i]);
  }

  std::string name_at(std::uint64_t offset) const {
    if (work_.is_over()) return {};
    std::string name = file_.text(offset, kLongestFunctionName);
    return work_.spend(name.size() * NameWork::kStepsOfNameByte) ? name : std::string();
  }

  // Of a list, as far as the file has it.
  std::uint64_t size_of(const Elf64_Shdr& list) const {
    return std::min(list.sh_size, file_.size() - std::min(list.sh_offset, file_.size()));
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
  NameWork& work_;
};

bool all_are_named(const std::vector<std::string>& names) {
  return std::ranges::none_of(names, &std::string::empty);
}

// A small ELF file in the file, packed, which lists functions that .dynsym lacks.
void fill_from_packed(const ElfFile& file, std::span<const FileAddress> addresses,
                      std::vector<std::string>& names, NameWork& work) {
  const auto section = file.section(".gnu_debugdata");
  if (!section || section->sh_type == SHT_NOBITS) return;
  const std::uint64_t most =
      std::min<std::uint64_t>(kMostPacked, work.left() / NameWork::kStepsOfUnpackedByte);
  const std::string bytes = file.bytes(section->sh_offset, section->sh_size, kMostPacked);
  const UnpackedXz unpacked = unpacked_xz(bytes, most - std::min(most, bytes.size()));
  const std::size_t done = bytes.size() + unpacked.produced;
  if (!work.spend(done * NameWork::kStepsOfUnpackedByte) || unpacked.is_too_large)
    return work.exceed();
  const ElfFile packed(unpacked.bytes);
  FileSymbols(packed, work).fill(SHT_SYMTAB, addresses, names);
}

void fill_from_go_table(const ElfFile& file, std::span<const FileAddress> addresses,
                        std::vector<std::string>& names, NameWork& work) {
  const std::shared_ptr<const GoTable> shared = shared_go_table(file);
  const GoTable& table = *shared;
  if (!table.has_functions() || !work.spend(table.bytes())) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = table.name_at(addresses[i]).substr(0, kLongestFunctionName);
    if (work.spend(name.size() * NameWork::kStepsOfNameByte)) names[i] = name;
  }
}

// The same file where its list of symbols is packed.
UnpackedElf unpacked_symbols(const ElfFile& file, NameWork& work) {
  UnpackedElf unpacked = unpacked_elf(file, Packed::Symbols);
  const std::uint64_t size = unpacked.elf ? unpacked.elf->file().size() : 0;
  if (unpacked.is_too_large || !work.spend(size)) work.exceed();
  return unpacked;
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

std::vector<std::string> names_at(std::string_view text, const std::vector<std::uint64_t>& tags,
                                  NameWork& work) {
  std::vector<std::string> names;
  for (const std::uint64_t tag : tags) {
    const auto name = tag == kNoTag ? std::string_view() : line_at(text, tag);
    names.emplace_back(work.spend(name.size() * NameWork::kStepsOfNameByte) ? name : "");
  }
  return names;
}

}  // namespace

bool NameWork::spend(std::uint64_t steps) {
  if (steps > left_) is_over_ = true;
  if (is_over_) return false;
  left_ -= left_ == UINT64_MAX ? 0 : steps;
  return true;
}

std::vector<std::string> names_in_file(const ElfFile& file, std::span<const FileAddress> addresses,
                                       const ElfFile* stripped, NameWork& work) {
  std::vector<std::string> names(addresses.size());
  fill_from_go_table(file, addresses, names, work);
  const UnpackedElf own = unpacked_symbols(file, work);
  const UnpackedElf other = stripped ? unpacked_symbols(*stripped, work) : UnpackedElf();
  std::vector<const ElfFile*> files{own.elf ? &own.elf->file() : &file};
  if (stripped) files.push_back(other.elf ? &other.elf->file() : stripped);
  const auto goes_on = [&] { return !work.is_over() && !all_are_named(names); };
  for (const ElfFile* file : files) FileSymbols(*file, work).fill(SHT_SYMTAB, addresses, names);
  std::vector<const ElfFile*> originals{&file};
  if (stripped) originals.push_back(stripped);
  for (const ElfFile* file : originals)
    if (goes_on()) fill_from_packed(*file, addresses, names, work);
  for (const ElfFile* file : originals)
    if (goes_on()) FileSymbols(*file, work).fill(SHT_DYNSYM, addresses, names);
  return names;
}

std::vector<std::string> names_in_file(const ElfFile& file,
                                       std::span<const FileAddress> addresses) {
  NameWork work;
  return names_in_file(file, addresses, nullptr, work);
}

bool is_unstripped(const ElfFile& file) {
  return std::ranges::any_of(
      file.sections(), [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
}

std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses,
                                           NameWork& work) {
  if (!work.spend(text.size() * NameWork::kStepsOfTextByte))
    return std::vector<std::string>(addresses.size());
  Search search(addresses);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = sdk::take(rest, '\n');
    const auto start = hexadecimal(sdk::take(line, ' '));
    const auto size = hexadecimal(sdk::take(line, ' '));
    const auto name = static_cast<std::uint64_t>(line.data() - text.data());
    if (start && size && *size != 0 && !line.empty()) search.add(*start, *size, name);
  }
  return names_at(text, search.tags(), work);
}

std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses) {
  NameWork work;
  return names_in_perf_map(text, addresses, work);
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
  NameWork work;
  std::vector<std::string> names = names_at(text, search.tags(), work);
  for (std::string& name : names) std::ranges::replace(name, '\t', ' ');
  return names;
}

}  // namespace ctprof
