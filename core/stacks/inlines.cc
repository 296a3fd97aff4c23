#include "core/stacks/inlines.hpp"

#ifdef CTPROF_LIBDW
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/elf/debug_sections.hpp"
#include "core/elf/libdw.hpp"
#include "core/stacks/split_units.hpp"
#include "core/stacks/symbols.hpp"
#include "core/stacks/unpacked_elf.hpp"
#endif

namespace ctprof {

#ifdef CTPROF_LIBDW
namespace {

using dwarf::get_libdw;
using dwarf::Libdw;
using dwarf::OpenDwarf;
using dwarf::SectionMemory;

constexpr std::uint64_t kMaxDebugBytes = 512 << 20;
constexpr std::size_t kMaxNameBytes = 32 << 20;
constexpr std::size_t kMaxInlined = 4 << 20;
constexpr std::size_t kMaxPathSize = 4096;
constexpr unsigned kMaxEntryDepth = 256;  // nesting depth of entries

bool is_too_large(const ElfFile& file) {
  std::uint64_t sum = 0;
  for (const Elf64_Shdr& section : file.sections()) {
    const std::uint64_t size = get_unpacked_size(file, section);
    if (size > kMaxDebugBytes - sum) return true;
    sum += size;
  }
  return false;
}

bool is_in_dwz_file(unsigned form) {
  return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup ||
         form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

// Kinds of debug entries that contain code, or contain such entries.
enum class EntryKind : std::uint8_t { Other, Scope, Function, Inlined, Block };

EntryKind get_entry_kind(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: return EntryKind::Scope;
    case DW_TAG_subprogram: return EntryKind::Function;
    case DW_TAG_inlined_subroutine: return EntryKind::Inlined;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt: return EntryKind::Block;
    default: return EntryKind::Other;
  }
}

// Names of inlined functions; each is looked up once.
class InlineNames {
 public:
  InlineNames(const Libdw& dw, const SectionMemory& sections, bool has_dwz_file,
              std::vector<std::string>& names)
      : dw_(dw), sections_(sections), has_dwz_file_(has_dwz_file), names_(names) {}

  // Returns the number of the name of an inlined entry.
  std::uint32_t find_or_add_name(Dwarf_Die& inlined) {
    const auto origin = follow(inlined, DW_AT_abstract_origin);
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [known, is_new] = numbers_.emplace(origin ? origin->addr : nullptr, next);
    if (!is_new) return known->second;
    names_.push_back(origin ? find_name(*origin) : std::string());
    bytes_ += names_.back().size() + sizeof(std::string);
    return next;
  }
  bool is_full() const { return bytes_ > kMaxNameBytes; }
  // Forgets the entries of a closed file, because entries of another file may get the same
  // addresses in memory.
  void forget_entries() { numbers_.clear(); }

 private:
  bool can_read(Dwarf_Attribute& attribute) const {
    return has_dwz_file_ || !is_in_dwz_file(dw_.form(&attribute));
  }

  std::optional<Dwarf_Die> follow(Dwarf_Die& die, unsigned attribute_name) const {
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    const bool is_found = dw_.attribute(&die, attribute_name, &attribute) && can_read(attribute) &&
                          dw_.referenced_entry(&attribute, &target);
    return is_found ? std::optional(target) : std::nullopt;
  }

  std::string read_text(Dwarf_Die& die, unsigned attribute_name) const {
    Dwarf_Attribute attribute;
    if (!dw_.attribute(&die, attribute_name, &attribute) || !can_read(attribute)) return {};
    const char* text = dw_.text(&attribute);
    return text ? std::string(sections_.get_text(text, kMaxFunctionNameSize)) : std::string();
  }

  // Returns the linkage name, which includes scopes and types; otherwise the plain name.
  std::string find_name(Dwarf_Die die) const {
    constexpr int kMaxReferences = 4;  // an instance, its abstract origin, its declaration
    std::string plain;
    for (int i = 0; i < kMaxReferences; ++i) {
      for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
        if (std::string name = read_text(die, linkage); !name.empty()) return name;
      if (plain.empty()) plain = read_text(die, DW_AT_name);
      auto next = follow(die, DW_AT_specification);
      if (!next) next = follow(die, DW_AT_abstract_origin);
      if (!next) break;
      die = *next;
    }
    return plain;
  }

  const Libdw& dw_;
  const SectionMemory& sections_;
  bool has_dwz_file_;
  std::vector<std::string>& names_;
  std::unordered_map<void*, std::uint32_t> numbers_;
  std::size_t bytes_ = 0;
};

// Walks down the tree of entries with the addresses that each entry contains.
class EntryWalk {
 public:
  EntryWalk(const Libdw& dw, SectionMemory& sections, bool has_dwz_file,
            std::span<const FileAddress> addresses, std::chrono::steady_clock::time_point deadline,
            const std::atomic<bool>* stop, SplitUnits& split, Inlines& inlines)
      : dw_(dw),
        sections_(sections),
        addresses_(addresses),
        deadline_(deadline),
        stop_(stop),
        split_units_(split),
        names_(dw, sections, has_dwz_file, inlines.names),
        inlines_(inlines),
        chains_(inlines.chains) {
    for (std::uint32_t i = 0; i < addresses.size(); ++i) all_addresses_.push_back(i);
  }

  // Returns false if a limit was exceeded.
  bool run(Dwarf* dwarf) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    std::uint8_t type = 0;
    // With a null argument for the entry of the split unit, libdw does not search for its file.
    while (is_within_limits() &&
           dw_.units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
      const bool is_split = type == DW_UT_skeleton;
      const AddressIndexes matching =
          type == DW_UT_compile || is_split ? find_inside(die, all_addresses_) : AddressIndexes();
      if (matching.empty()) continue;
      is_split ? descend_split(die, matching) : descend(die, matching, 0, 0);
    }
    return !is_limit_exceeded_;
  }

 private:
  using AddressIndexes = std::vector<std::uint32_t>;  // indexes of addresses, ascending

  std::string read_text(Dwarf_Die& die, unsigned one, unsigned other) const {
    Dwarf_Attribute attribute;
    if (!dw_.attribute(&die, one, &attribute) && !dw_.attribute(&die, other, &attribute)) return {};
    const char* text = dw_.text(&attribute);
    return text ? std::string(sections_.get_text(text, kMaxPathSize)) : std::string();
  }
  std::uint64_t read_number(Dwarf_Die& die, unsigned one, unsigned other) const {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dw_.attribute(&die, one, &attribute) && !dw_.attribute(&die, other, &attribute)) return 0;
    return dw_.number(&attribute, &value) == 0 ? value : 0;
  }

  // Reads the data of a split unit, which has its own file, from its skeleton entry.
  SplitUnit read_split_unit(Dwarf_Die& skeleton) const {
    SplitUnit unit;
    unit.name = read_text(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    unit.directory = read_text(skeleton, DW_AT_comp_dir, DW_AT_comp_dir);
    unit.addresses_offset = read_number(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base);
    unit.ranges_offset = read_number(skeleton, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
    dw_.unit_info(skeleton.cu, nullptr, nullptr, nullptr, nullptr, &unit.id, nullptr, nullptr);
    return unit;
  }

  void descend_split(Dwarf_Die& skeleton, const AddressIndexes& places) {
    const SplitUnit unit = read_split_unit(skeleton);
    const auto elf = split_units_.open(unit);
    const std::optional<OpenDwarf> dwarf =
        elf ? std::optional<OpenDwarf>(std::in_place, dw_, elf->file()) : std::nullopt;
    if (!dwarf || !dwarf->get()) return void(++inlines_.missing_split_units);
    const std::size_t before = sections_.count();
    sections_.add(dw_, dwarf->elf());
    split_base_ = 0;
    if (dw_.low_address(&skeleton, &split_base_) != 0) split_base_ = 0;
    descend_units(dwarf->get(), unit.id, places);
    split_base_ = 0;
    sections_.shrink(before);
    names_.forget_entries();
  }

  void descend_units(Dwarf* dwarf, std::uint64_t id, const AddressIndexes& places) {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    bool is_found = false;
    while (is_within_limits() &&
           dw_.units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      std::uint64_t found_id = 0;
      dw_.unit_info(unit, nullptr, nullptr, nullptr, nullptr, &found_id, nullptr, nullptr);
      if (found_id != id) continue;
      is_found = true;
      descend(die, places, 0, 0);
    }
    if (!is_found) ++inlines_.missing_split_units;
  }

  bool is_stopped() const { return stop_ && *stop_; }
  // Checks the time every kTimeCheckInterval calls.
  bool is_within_limits() {
    constexpr std::uint64_t kTimeCheckInterval = 1024;
    if (steps_++ % kTimeCheckInterval == 0 &&
        (std::chrono::steady_clock::now() > deadline_ || is_stopped()))
      is_limit_exceeded_ = true;
    if (names_.is_full() || inlined_count_ > kMaxInlined) is_limit_exceeded_ = true;
    return !is_limit_exceeded_;
  }

  // Returns the addresses of `candidates` that are in the entry's ranges. An entry may have very
  // many ranges.
  AddressIndexes find_inside(Dwarf_Die& die, const AddressIndexes& candidates) {
    AddressIndexes inside;
    Dwarf_Addr base = 0, start = 0, end = 0;
    std::ptrdiff_t at = 0;
    while (is_within_limits() && (at = dw_.ranges(&die, at, &base, &start, &end)) > 0) {
      const auto address = [&](std::uint32_t place) { return addresses_[place]; };
      // Ranges of a split unit may be relative to the start of its code, which its own file lacks.
      if (split_base_ != 0 && base == 0 && start < split_base_)
        start += split_base_, end += split_base_;
      for (auto i = std::ranges::lower_bound(candidates, start, {}, address);
           i != candidates.end() && addresses_[*i] < end && is_within_limits(); ++i)
        inside.push_back(*i);
    }
    std::ranges::sort(inside);
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
    return inside;
  }

  // `level`: the number of enclosing inlined functions.
  void descend(Dwarf_Die& parent, const AddressIndexes& places, unsigned depth, unsigned level) {
    Dwarf_Die die;
    if (depth == kMaxEntryDepth || dw_.child(&parent, &die) != 0) return;
    do visit_entry(die, places, depth, level);
    while (is_within_limits() && go_to_sibling(die));
  }

  // Moves to the next sibling. In a hostile file, a sibling may be before the entry; then returns
  // false.
  bool go_to_sibling(Dwarf_Die& die) const {
    Dwarf_Die next;
    if (dw_.sibling(&die, &next) != 0 || dw_.offset(&next) <= dw_.offset(&die)) return false;
    die = next;
    return true;
  }

  void visit_entry(Dwarf_Die& die, const AddressIndexes& places, unsigned depth, unsigned level) {
    const EntryKind entry = get_entry_kind(dw_.tag(&die));
    if (entry == EntryKind::Other) return;
    if (entry == EntryKind::Scope) return descend(die, places, depth + 1, level);
    const AddressIndexes inside = find_inside(die, places);
    if (inside.empty()) return;
    const bool is_inlined = entry == EntryKind::Inlined;
    if (is_inlined) add_inlined(die, inside, level);
    descend(die, inside, depth + 1, level + is_inlined);
  }

  // Adds an inlined function to the chains of its addresses. An address has one function per level:
  // the first one counts if several contain it.
  void add_inlined(Dwarf_Die& die, const AddressIndexes& inside, unsigned level) {
    const std::uint32_t name = names_.find_or_add_name(die);
    for (const std::uint32_t place : inside) {
      if (chains_[place].size() != level) continue;
      chains_[place].push_back(name);
      ++inlined_count_;
    }
  }

  const Libdw& dw_;
  SectionMemory& sections_;
  std::span<const FileAddress> addresses_;
  std::chrono::steady_clock::time_point deadline_;
  const std::atomic<bool>* stop_;
  SplitUnits& split_units_;
  InlineNames names_;
  Inlines& inlines_;
  std::vector<std::vector<std::uint32_t>>& chains_;
  Dwarf_Addr split_base_ = 0;  // start address of the code of a split unit
  AddressIndexes all_addresses_;
  std::uint64_t steps_ = 0;
  std::size_t inlined_count_ = 0;
  bool is_limit_exceeded_ = false;
};

Inlines::Outcome read_inlines(const ElfFile& file, const DebugSources& sources,
                              std::span<const FileAddress> addresses,
                              std::chrono::steady_clock::time_point deadline,
                              const std::atomic<bool>* stop, Inlines& inlines) {
  using Outcome = Inlines::Outcome;
  const ElfFile* dwz_file = sources.dwz_file;
  if (is_too_large(file) || (dwz_file && is_too_large(*dwz_file))) return Outcome::TooLarge;
  const Libdw* dw = get_libdw();
  if (!dw) return Outcome::NoLibdw;
  std::optional<OpenDwarf> dwz_dwarf;
  if (dwz_file) dwz_dwarf.emplace(*dw, *dwz_file);
  const OpenDwarf dwarf(*dw, file);
  if (!dwarf.get()) return Outcome::NoInfo;
  const bool has_dwz_file = dwz_dwarf && dwz_dwarf->get();
  inlines.lacks_dwz_file = !has_dwz_file && file.section(".gnu_debugaltlink").has_value();
  if (has_dwz_file) dw->set_dwz_file(dwarf.get(), dwz_dwarf->get());
  SectionMemory sections;
  sections.add(*dw, dwarf.elf());
  if (has_dwz_file) sections.add(*dw, dwz_dwarf->elf());
  SplitUnits split(file, sources.open, sources.program_path);
  EntryWalk descent(*dw, sections, has_dwz_file, addresses, deadline, stop, split, inlines);
  return descent.run(dwarf.get()) ? Outcome::Complete : Outcome::Incomplete;
}

}  // namespace

Inlines find_inlines(const ElfFile& file, const DebugSources& sources,
                     std::span<const FileAddress> addresses,
                     std::chrono::steady_clock::time_point deadline,
                     const std::atomic<bool>* stop) {
  Inlines inlines;
  inlines.chains.resize(addresses.size());
  const UnpackedElf own = make_unpacked_elf(file, SectionKind::DebugInformation);
  const UnpackedElf dwz_file =
      sources.dwz_file ? make_unpacked_elf(*sources.dwz_file, SectionKind::DebugInformation)
                       : UnpackedElf();
  DebugSources unpacked = sources;
  if (dwz_file.elf) unpacked.dwz_file = &dwz_file.elf->file();
  inlines.outcome = own.is_too_large || dwz_file.is_too_large
                        ? Inlines::Outcome::TooLarge
                        : read_inlines(own.elf ? own.elf->file() : file, unpacked, addresses,
                                       deadline, stop, inlines);
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
