#include "core/stacks/inlines.hpp"

#ifdef CTPROF_LIBDW
#include <endian.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/stacks/libdw.hpp"
#include "core/stacks/split_units.hpp"
#include "core/stacks/symbols.hpp"
#include "core/stacks/unpacked_elf.hpp"
#endif

namespace ctprof {

#ifdef CTPROF_LIBDW
namespace {

using dwarf::Libdw;
using dwarf::libdw;
using dwarf::OpenDwarf;
using dwarf::Sections;

constexpr std::uint64_t kMostDebugBytes = 512 << 20;
constexpr std::size_t kMostNameBytes = 32 << 20;
constexpr std::size_t kMostInlined = 4 << 20;
constexpr std::size_t kLongestPath = 4096;
constexpr unsigned kDeepestEntry = 256;  // nesting depth of entries

// Returns the unpacked size that a section claims, in the current header or in the one of old
// tools: "ZLIB" and the size.
std::uint64_t size_of(const ElfFile& file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS) return 0;
  if ((section.sh_flags & SHF_COMPRESSED) != 0) {
    Elf64_Chdr packed{};
    return file.read(section.sh_offset, &packed, sizeof packed) ? packed.ch_size : UINT64_MAX;
  }
  char head[12];
  const bool is_packed = section.sh_size >= sizeof head &&
                         file.read(section.sh_offset, head, sizeof head) &&
                         std::memcmp(head, "ZLIB", 4) == 0;
  std::uint64_t size = section.sh_size;
  if (is_packed) std::memcpy(&size, head + 4, sizeof size);
  return is_packed ? be64toh(size) : size;
}

bool is_too_large(const ElfFile& file) {
  std::uint64_t sum = 0;
  for (const Elf64_Shdr& section : file.sections()) {
    const std::uint64_t size = size_of(file, section);
    if (size > kMostDebugBytes - sum) return true;
    sum += size;
  }
  return false;
}

bool is_in_another_file(unsigned form) {
  return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup ||
         form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

// Kinds of debug entries that contain code, or contain such entries.
enum class Entry : std::uint8_t { Other, Scope, Function, Inlined, Block };

Entry entry_of(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: return Entry::Scope;
    case DW_TAG_subprogram: return Entry::Function;
    case DW_TAG_inlined_subroutine: return Entry::Inlined;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt: return Entry::Block;
    default: return Entry::Other;
  }
}

// Names of inlined functions; each is looked up once.
class Names {
 public:
  Names(const Libdw& dw, const Sections& sections, bool has_moved, std::vector<std::string>& names)
      : dw_(dw), sections_(sections), has_moved_(has_moved), names_(names) {}

  // Returns the number of the name of an inlined entry.
  std::uint32_t of(Dwarf_Die& inlined) {
    const auto origin = follow(inlined, DW_AT_abstract_origin);
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [known, is_new] = numbers_.emplace(origin ? origin->addr : nullptr, next);
    if (!is_new) return known->second;
    names_.push_back(origin ? look_up(*origin) : std::string());
    bytes_ += names_.back().size() + sizeof(std::string);
    return next;
  }
  bool is_full() const { return bytes_ > kMostNameBytes; }
  // Forgets the entries of a file that was closed: other entries may get the same addresses.
  void forget_entries() { numbers_.clear(); }

 private:
  bool can_read(Dwarf_Attribute& attribute) const {
    return has_moved_ || !is_in_another_file(dw_.form(&attribute));
  }

  std::optional<Dwarf_Die> follow(Dwarf_Die& die, unsigned what) const {
    Dwarf_Attribute attribute;
    Dwarf_Die to;
    const bool leads = dw_.attribute(&die, what, &attribute) && can_read(attribute) &&
                       dw_.referred(&attribute, &to);
    return leads ? std::optional(to) : std::nullopt;
  }

  std::string text(Dwarf_Die& die, unsigned what) const {
    Dwarf_Attribute attribute;
    if (!dw_.attribute(&die, what, &attribute) || !can_read(attribute)) return {};
    const char* text = dw_.text(&attribute);
    return text ? std::string(sections_.text_at(text, kLongestFunctionName)) : std::string();
  }

  // Returns the linkage name, which includes scopes and types; otherwise the plain name.
  std::string look_up(Dwarf_Die die) const {
    constexpr int kFarthest = 4;  // an instance, its abstract origin, its declaration
    std::string plain;
    for (int i = 0; i < kFarthest; ++i) {
      for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
        if (std::string name = text(die, linkage); !name.empty()) return name;
      if (plain.empty()) plain = text(die, DW_AT_name);
      auto next = follow(die, DW_AT_specification);
      if (!next) next = follow(die, DW_AT_abstract_origin);
      if (!next) break;
      die = *next;
    }
    return plain;
  }

  const Libdw& dw_;
  const Sections& sections_;
  bool has_moved_;
  std::vector<std::string>& names_;
  std::unordered_map<void*, std::uint32_t> numbers_;
  std::size_t bytes_ = 0;
};

// Walks down the tree of entries with the addresses that each entry contains.
class Descent {
 public:
  Descent(const Libdw& dw, Sections& sections, bool has_moved,
          std::span<const FileAddress> addresses, std::chrono::steady_clock::time_point until,
          const std::atomic<bool>* stop, SplitUnits& split, Inlines& inlines)
      : dw_(dw),
        sections_(sections),
        addresses_(addresses),
        until_(until),
        stop_(stop),
        split_(split),
        names_(dw, sections, has_moved, inlines.names),
        inlines_(inlines),
        chains_(inlines.chains) {
    for (std::uint32_t i = 0; i < addresses.size(); ++i) all_.push_back(i);
  }

  // Returns false if a limit was exceeded.
  bool run(Dwarf* dwarf) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    std::uint8_t type = 0;
    // With a null argument for the entry of the split unit, libdw does not search for its file.
    while (goes_on() && dw_.units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
      const bool is_split = type == DW_UT_skeleton;
      const Places inside = type == DW_UT_compile || is_split ? inside_of(die, all_) : Places();
      if (inside.empty()) continue;
      is_split ? descend_split(die, inside) : descend(die, inside, 0, 0);
    }
    return !is_over_;
  }

 private:
  using Places = std::vector<std::uint32_t>;  // indexes of addresses, ascending

  std::string text(Dwarf_Die& die, unsigned one, unsigned other) const {
    Dwarf_Attribute attribute;
    if (!dw_.attribute(&die, one, &attribute) && !dw_.attribute(&die, other, &attribute)) return {};
    const char* text = dw_.text(&attribute);
    return text ? std::string(sections_.text_at(text, kLongestPath)) : std::string();
  }
  std::uint64_t number(Dwarf_Die& die, unsigned one, unsigned other) const {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dw_.attribute(&die, one, &attribute) && !dw_.attribute(&die, other, &attribute)) return 0;
    return dw_.number(&attribute, &value) == 0 ? value : 0;
  }

  // Reads the data of a split unit, which has its own file, from its skeleton entry.
  SplitUnit split_unit_of(Dwarf_Die& skeleton) const {
    SplitUnit unit;
    unit.name = text(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    unit.directory = text(skeleton, DW_AT_comp_dir, DW_AT_comp_dir);
    unit.addresses_at = number(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base);
    unit.ranges_at = number(skeleton, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
    dw_.unit_info(skeleton.cu, nullptr, nullptr, nullptr, nullptr, &unit.id, nullptr, nullptr);
    return unit;
  }

  void descend_split(Dwarf_Die& skeleton, const Places& places) {
    const SplitUnit unit = split_unit_of(skeleton);
    const auto elf = split_.open(unit);
    const std::optional<OpenDwarf> dwarf =
        elf ? std::optional<OpenDwarf>(std::in_place, dw_, elf->file()) : std::nullopt;
    if (!dwarf || !dwarf->get()) return void(++inlines_.split_missing);
    const std::size_t before = sections_.count();
    sections_.add(dw_, dwarf->elf());
    base_ = 0;
    if (dw_.low_address(&skeleton, &base_) != 0) base_ = 0;
    descend_units(dwarf->get(), unit.id, places);
    base_ = 0;
    sections_.shrink(before);
    names_.forget_entries();
  }

  void descend_units(Dwarf* dwarf, std::uint64_t id, const Places& places) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    bool is_found = false;
    while (goes_on() && dw_.units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      std::uint64_t its_id = 0;
      dw_.unit_info(unit, nullptr, nullptr, nullptr, nullptr, &its_id, nullptr, nullptr);
      if (its_id != id) continue;
      is_found = true;
      descend(die, places, 0, 0);
    }
    if (!is_found) ++inlines_.split_missing;
  }

  bool is_stopped() const { return stop_ && *stop_; }
  // Checks the time every kOften calls.
  bool goes_on() {
    constexpr std::uint64_t kOften = 1024;
    if (steps_++ % kOften == 0 && (std::chrono::steady_clock::now() > until_ || is_stopped()))
      is_over_ = true;
    if (names_.is_full() || inlined_ > kMostInlined) is_over_ = true;
    return !is_over_;
  }

  // Returns the addresses of `among` that are in the entry's ranges, which may be very many.
  Places inside_of(Dwarf_Die& die, const Places& among) {
    Places inside;
    Dwarf_Addr base = 0, start = 0, end = 0;
    std::ptrdiff_t at = 0;
    while (goes_on() && (at = dw_.ranges(&die, at, &base, &start, &end)) > 0) {
      const auto address = [&](std::uint32_t place) { return addresses_[place]; };
      // Ranges of a split unit may be relative to the start of its code, which its own file lacks.
      if (base_ != 0 && base == 0 && start < base_) start += base_, end += base_;
      for (auto i = std::ranges::lower_bound(among, start, {}, address);
           i != among.end() && addresses_[*i] < end && goes_on(); ++i)
        inside.push_back(*i);
    }
    std::ranges::sort(inside);
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
    return inside;
  }

  // `level`: the number of enclosing inlined functions.
  void descend(Dwarf_Die& parent, const Places& places, unsigned depth, unsigned level) {
    Dwarf_Die die;
    if (depth == kDeepestEntry || dw_.child(&parent, &die) != 0) return;
    do visit(die, places, depth, level);
    while (goes_on() && go_to_sibling(die));
  }

  // Moves to the next sibling. In a hostile file, a sibling may be before the entry; then returns
  // false.
  bool go_to_sibling(Dwarf_Die& die) const {
    Dwarf_Die next;
    if (dw_.sibling(&die, &next) != 0 || dw_.offset(&next) <= dw_.offset(&die)) return false;
    die = next;
    return true;
  }

  void visit(Dwarf_Die& die, const Places& places, unsigned depth, unsigned level) {
    const Entry entry = entry_of(dw_.tag(&die));
    if (entry == Entry::Other) return;
    if (entry == Entry::Scope) return descend(die, places, depth + 1, level);
    const Places inside = inside_of(die, places);
    if (inside.empty()) return;
    const bool is_inlined = entry == Entry::Inlined;
    if (is_inlined) note(die, inside, level);
    descend(die, inside, depth + 1, level + is_inlined);
  }

  // Adds an inlined function to the chains of its addresses. An address has one function per level:
  // the first one counts if several contain it.
  void note(Dwarf_Die& die, const Places& inside, unsigned level) {
    const std::uint32_t name = names_.of(die);
    for (const std::uint32_t place : inside) {
      if (chains_[place].size() != level) continue;
      chains_[place].push_back(name);
      ++inlined_;
    }
  }

  const Libdw& dw_;
  Sections& sections_;
  std::span<const FileAddress> addresses_;
  std::chrono::steady_clock::time_point until_;
  const std::atomic<bool>* stop_;
  SplitUnits& split_;
  Names names_;
  Inlines& inlines_;
  std::vector<std::vector<std::uint32_t>>& chains_;
  Dwarf_Addr base_ = 0;  // start address of the code of a split unit
  Places all_;
  std::uint64_t steps_ = 0;
  std::size_t inlined_ = 0;
  bool is_over_ = false;
};

Inlines::Outcome read(const ElfFile& file, const DebugSources& sources,
                      std::span<const FileAddress> addresses,
                      std::chrono::steady_clock::time_point until, const std::atomic<bool>* stop,
                      Inlines& inlines) {
  using Outcome = Inlines::Outcome;
  const ElfFile* moved = sources.moved;
  if (is_too_large(file) || (moved && is_too_large(*moved))) return Outcome::TooLarge;
  const Libdw* dw = libdw();
  if (!dw) return Outcome::NoReader;
  std::optional<OpenDwarf> others;
  if (moved) others.emplace(*dw, *moved);
  const OpenDwarf dwarf(*dw, file);
  if (!dwarf.get()) return Outcome::NoInfo;
  const bool has_moved = others && others->get();
  inlines.lacks_moved = !has_moved && file.section(".gnu_debugaltlink").has_value();
  if (has_moved) dw->set_moved(dwarf.get(), others->get());
  Sections sections;
  sections.add(*dw, dwarf.elf());
  if (has_moved) sections.add(*dw, others->elf());
  SplitUnits split(file, sources.open, sources.path);
  Descent descent(*dw, sections, has_moved, addresses, until, stop, split, inlines);
  return descent.run(dwarf.get()) ? Outcome::Told : Outcome::Cut;
}

}  // namespace

Inlines inlines_in(const ElfFile& file, const DebugSources& sources,
                   std::span<const FileAddress> addresses,
                   std::chrono::steady_clock::time_point until, const std::atomic<bool>* stop) {
  Inlines inlines;
  inlines.chains.resize(addresses.size());
  const UnpackedElf own = unpacked_elf(file, Packed::DebugInformation);
  const UnpackedElf moved =
      sources.moved ? unpacked_elf(*sources.moved, Packed::DebugInformation) : UnpackedElf();
  DebugSources unpacked = sources;
  if (moved.elf) unpacked.moved = &moved.elf->file();
  inlines.outcome =
      own.is_too_large || moved.is_too_large
          ? Inlines::Outcome::TooLarge
          : read(own.elf ? own.elf->file() : file, unpacked, addresses, until, stop, inlines);
  return inlines;
}
#else
Inlines inlines_in(const ElfFile&, const DebugSources&, std::span<const FileAddress> addresses,
                   std::chrono::steady_clock::time_point, const std::atomic<bool>*) {
  Inlines inlines;
  inlines.chains.resize(addresses.size());
  inlines.outcome = Inlines::Outcome::NoReader;
  return inlines;
}
#endif

}  // namespace ctprof
