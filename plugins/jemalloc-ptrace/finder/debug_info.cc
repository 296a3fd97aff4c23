#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/elf/libdw.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {

namespace {

using dwarf::Libdw;
using dwarf::OpenDwarf;
using dwarf::SectionMemory;

constexpr const char* kStruct = "tsd_s";
constexpr const char* kAllocated =
    "cant_access_tsd_items_directly_use_a_getter_or_setter_thread_allocated";
constexpr const char* kDeallocated =
    "cant_access_tsd_items_directly_use_a_getter_or_setter_thread_deallocated";

constexpr std::uint64_t kMaxDebugBytes = 256ULL << 20;
constexpr auto kTimeout = std::chrono::seconds(1);

class Deadline {
 public:
  // Checks the time at every 256th call.
  bool has_passed() { return (++steps_ & 255) == 0 && std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kTimeout;
  std::uint64_t steps_ = 0;
};

// Searches the entries of one file.
class EntrySearch {
 public:
  explicit EntrySearch(const Libdw& dw) : dw_(dw) {}

  std::optional<TsdFields> find_fields(const OpenDwarf& dwarf) {
    if (!dwarf.get()) return std::nullopt;
    sections_.add(dw_, dwarf.elf());
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    // Without an argument for the split unit's entry, libdw does not search for its file.
    while (!clock_.has_passed() &&
           dw_.units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
      if (const auto fields = find_fields_in_unit(die)) return fields;
    return std::nullopt;
  }

 private:
  std::optional<TsdFields> find_fields_in_unit(Dwarf_Die& unit) {
    Dwarf_Die die;
    if (dw_.child(&unit, &die) != 0) return std::nullopt;
    do {
      if (dw_.tag(&die) != DW_TAG_structure_type || !is_named(die, kStruct)) continue;
      if (const auto fields = read_fields(die)) return fields;
    } while (!clock_.has_passed() && go_to_sibling(die));
    return std::nullopt;
  }

  std::optional<TsdFields> read_fields(Dwarf_Die& structure) const {
    std::optional<std::int64_t> allocated;
    std::optional<std::int64_t> deallocated;
    Dwarf_Die member;
    if (dw_.child(&structure, &member) != 0) return std::nullopt;
    do {
      if (dw_.tag(&member) != DW_TAG_member) continue;
      if (is_named(member, kAllocated)) allocated = offset_of_member(member);
      if (is_named(member, kDeallocated)) deallocated = offset_of_member(member);
    } while (go_to_sibling(member));
    if (!allocated || !deallocated || *allocated >= *deallocated) return std::nullopt;
    return TsdFields{*allocated, *deallocated};
  }

  // Only uses texts in the file itself: for those in another file libdw would open it.
  bool is_named(Dwarf_Die& die, std::string_view expected) const {
    Dwarf_Attribute attribute;
    if (dw_.attribute(&die, DW_AT_name, &attribute) == nullptr) return false;
    const unsigned form = dw_.form(&attribute);
    if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) return false;
    const char* name = dw_.text(&attribute);
    return name != nullptr && sections_.get_text(name, expected.size() + 1) == expected;
  }

  // Goes to the next entry of the same level; a hostile entry may claim to precede this one.
  bool go_to_sibling(Dwarf_Die& die) const {
    Dwarf_Die following;
    if (dw_.sibling(&die, &following) != 0 || dw_.offset(&following) <= dw_.offset(&die))
      return false;
    die = following;
    return true;
  }

  std::optional<std::int64_t> offset_of_member(Dwarf_Die& member) const {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dw_.attribute(&member, DW_AT_data_member_location, &attribute) == nullptr)
      return std::nullopt;
    if (dw_.number(&attribute, &offset) != 0) return std::nullopt;
    return static_cast<std::int64_t>(offset);
  }

  const Libdw& dw_;
  SectionMemory sections_;
  Deadline clock_;
};

std::optional<TsdFields> find_fields_in_package(const Libdw& dw, const ElfFile& file) {
  const DwpUnits units(file);
  Deadline clock;
  for (std::uint32_t unit = 0; unit < units.size() && !clock.has_passed(); ++unit) {
    std::string image = units.build_image(unit);
    if (!file.budget()->charge(image.size())) break;
    const OpenDwarf dwarf(dw, image);
    if (const auto fields = EntrySearch(dw).find_fields(dwarf)) return fields;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TsdFields> find_tsd_fields(const ElfFile& file) {
  const DebugSections sections = find_debug_sections(file);
  if (!sections.has_info) return std::nullopt;
  if (sections.bytes > kMaxDebugBytes || !file.budget()->charge(sections.bytes))
    return std::nullopt;
  const Libdw* dw = dwarf::get_libdw();
  if (!dw) return std::nullopt;
  if (sections.is_package) return find_fields_in_package(*dw, file);
  return EntrySearch(*dw).find_fields(OpenDwarf(*dw, file));
}

namespace {

constexpr std::uint64_t kMaxChecksumBytes = 256ULL << 20;

constexpr const char* kDebugDirectory = "/usr/lib/debug";

enum class MatchKind : std::uint8_t { None, BuildId, Checksum };

struct Candidate {
  std::string path;
  MatchKind match_kind;
};

std::vector<Candidate> list_candidates(const std::string& path, const DebugHints& hints) {
  // A package contains no build id: only its name ties it to the file.
  std::vector<Candidate> found{{path + ".dwp", MatchKind::None},
                               {path + ".debuginfo", MatchKind::BuildId},
                               {path + ".debug", MatchKind::BuildId}};
  if (hints.build_id.size() > 1)
    found.push_back(
        {kDebugDirectory + format_build_id_path(hints.build_id) + ".debug", MatchKind::BuildId});
  if (!hints.link) return found;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  for (const std::string& directory_path :
       {directory, directory + ".debug/", kDebugDirectory + directory})
    found.push_back({directory_path + hints.link->name, MatchKind::Checksum});
  return found;
}

bool belongs_to_file(const ElfFile& file, const DebugHints& hints, MatchKind match_kind) {
  switch (match_kind) {
    case MatchKind::None: return true;
    case MatchKind::BuildId: return file.build_id() == hints.build_id;
    case MatchKind::Checksum:
      return file.size() <= kMaxChecksumBytes &&
             compute_link_checksum(file) == hints.link->checksum;
  }
  return false;
}

std::optional<DebugFacts> read_facts(const ElfFile& file) {
  const auto fields = find_tsd_fields(file);
  return fields ? std::optional(DebugFacts{*fields, read_static_symbols(file).tsd_offset})
                : std::nullopt;
}

// Values that all queries for one file share.
struct QueryContext {
  DebugHints hints;
  std::shared_ptr<FileBudget> budget;
  AccessMonitor* watch;
};

std::optional<DebugFacts> read_candidate(int root, const Candidate& candidate,
                                         const QueryContext& context) {
  const OpenedFile opened = open_in_root(root, candidate.path.c_str(), context.watch);
  if (!opened.fd) return std::nullopt;
  const ElfFile file(opened.fd.get(), context.budget);
  if (file.kind() != ElfKind::Elf64 || !belongs_to_file(file, context.hints, candidate.match_kind))
    return std::nullopt;
  return read_facts(file);
}

}  // namespace

DebugHints read_debug_hints(const ElfFile& file) {
  return {file.build_id(), read_debug_link(file)};
}

std::optional<DebugFacts> find_debug_facts(const ElfFile& file, const std::string& path,
                                           const std::vector<int>& roots, AccessMonitor* watch) {
  if (auto facts = read_facts(file)) return facts;
  const QueryContext context{read_debug_hints(file), file.budget(), watch};
  for (const Candidate& candidate : list_candidates(path, context.hints))
    for (const int root : roots)
      if (auto facts = read_candidate(root, candidate, context)) return facts;
  return std::nullopt;
}

}  // namespace ctprof::jemalloc
