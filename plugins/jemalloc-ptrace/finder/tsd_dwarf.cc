#include "plugins/jemalloc-ptrace/finder/tsd_dwarf.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"
#include "plugins/jemalloc-ptrace/finder/dwp_units.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr const char* kStruct = "tsd_s";
constexpr const char* kAllocated =
    "cant_access_tsd_items_directly_use_a_getter_or_setter_thread_allocated";
constexpr const char* kDeallocated =
    "cant_access_tsd_items_directly_use_a_getter_or_setter_thread_deallocated";

constexpr std::uint64_t kMaxDebugBytes = 256ULL << 20;
constexpr auto kPatience = std::chrono::seconds(1);

struct CloseElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct CloseDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using ElfHandle = std::unique_ptr<Elf, CloseElf>;
using DwarfHandle = std::unique_ptr<Dwarf, CloseDwarf>;

// A text that stands in the file itself: those in another file would make libdw open it.
const char* name_of(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&die, DW_AT_name, &attribute) == nullptr) return "";
  const unsigned form = dwarf_whatform(&attribute);
  if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) return "";
  const char* name = dwarf_formstring(&attribute);
  return name == nullptr ? "" : name;
}

// The next entry of the same level; a hostile one may claim to be before this.
bool next(Dwarf_Die& die) {
  Dwarf_Die following;
  if (dwarf_siblingof(&die, &following) != 0 ||
      dwarf_dieoffset(&following) <= dwarf_dieoffset(&die))
    return false;
  die = following;
  return true;
}

std::optional<std::int64_t> offset_of_member(Dwarf_Die& member) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_attr(&member, DW_AT_data_member_location, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &offset) != 0) return std::nullopt;
  return static_cast<std::int64_t>(offset);
}

std::optional<TsdFields> fields_of(Dwarf_Die& structure) {
  std::optional<std::int64_t> allocated;
  std::optional<std::int64_t> deallocated;
  Dwarf_Die member;
  if (dwarf_child(&structure, &member) != 0) return std::nullopt;
  do {
    if (dwarf_tag(&member) != DW_TAG_member) continue;
    const char* name = name_of(member);
    if (std::strcmp(name, kAllocated) == 0) allocated = offset_of_member(member);
    if (std::strcmp(name, kDeallocated) == 0) deallocated = offset_of_member(member);
  } while (next(member));
  if (!allocated || !deallocated || *allocated >= *deallocated) return std::nullopt;
  return TsdFields{*allocated, *deallocated};
}

class Clock {
 public:
  // Looks at the time now and then.
  bool over() { return (++steps_ & 255) == 0 && std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kPatience;
  std::uint64_t steps_ = 0;
};

std::optional<TsdFields> fields_in_unit(Dwarf_Die& unit, Clock& clock) {
  Dwarf_Die die;
  if (dwarf_child(&unit, &die) != 0) return std::nullopt;
  do {
    if (dwarf_tag(&die) != DW_TAG_structure_type || std::strcmp(name_of(die), kStruct) != 0)
      continue;
    if (const auto fields = fields_of(die)) return fields;
  } while (!clock.over() && next(die));
  return std::nullopt;
}

std::optional<TsdFields> in_packed_units(const ElfFile& file) {
  const DwpUnits units(file);
  Clock clock;
  for (std::uint32_t unit = 0; unit < units.size() && !clock.over(); ++unit) {
    std::string image = units.image(unit);
    if (!file.budget()->charge(image.size())) break;
    const ElfHandle elf(image.empty() ? nullptr : elf_memory(image.data(), image.size()));
    if (const auto fields = elf ? tsd_fields_of(elf.get()) : std::nullopt) return fields;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TsdFields> tsd_fields_of(Elf* elf) {
  const DwarfHandle dwarf(dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
  if (!dwarf) return std::nullopt;
  Clock clock;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  // Without a place for the split unit's entry libdw does not go looking for its file.
  while (!clock.over() &&
         dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (const auto fields = fields_in_unit(die, clock)) return fields;
  return std::nullopt;
}

std::optional<TsdFields> tsd_fields_in(const ElfFile& file) {
  const DebugSections sections = debug_sections(file);
  if (!sections.info || elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  if (sections.bytes > kMaxDebugBytes || !file.budget()->charge(sections.bytes))
    return std::nullopt;
  if (sections.packed) return in_packed_units(file);
  const ElfHandle elf(elf_begin(file.fd(), ELF_C_READ, nullptr));
  return elf ? tsd_fields_of(elf.get()) : std::nullopt;
}

}  // namespace ctprof::jemalloc
