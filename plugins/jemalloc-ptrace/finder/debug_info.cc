#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"

#include <dwarf.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/jemalloc-ptrace/finder/debug_sections.hpp"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/libdw.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {

namespace {

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

using ElfHandle = std::unique_ptr<Elf, decltype(&::elf_end)>;

// The debug sections of a file in libdw's memory. libdw returns pointers to texts in them without
// checking that they are terminated.
class SectionTexts {
 public:
  // REQUIRES: libdw has opened the debug information, which unpacks sections.
  SectionTexts(const Libdw& dw, Elf* elf) {
    std::size_t names = 0;
    if (dw.elf_getshdrstrndx(elf, &names) != 0) return;
    for (Elf_Scn* section = nullptr; (section = dw.elf_nextscn(elf, section)) != nullptr;) {
      const Elf64_Shdr* header = dw.elf64_getshdr(section);
      const char* name = header ? dw.elf_strptr(elf, names, header->sh_name) : nullptr;
      if (!name || !is_debug_section(name) || all_.size() == kMaxSections) continue;
      if (const Elf_Data* data = dw.elf_rawdata(section, nullptr); data && data->d_buf)
        all_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
    }
  }

  // Returns whether `text` points to exactly `name`, including its end.
  bool has_text(const char* text, std::string_view name) const {
    for (const std::string_view section : all_) {
      const auto section_start = reinterpret_cast<std::uintptr_t>(section.data());
      const auto text_address = reinterpret_cast<std::uintptr_t>(text);
      if (text_address < section_start || text_address - section_start >= section.size()) continue;
      const std::string_view rest = section.substr(text_address - section_start);
      return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == 0;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMaxSections = 64;  // a file has about twelve

  std::vector<std::string_view> all_;
};

// Searches the entries of one file.
class EntrySearch {
 public:
  explicit EntrySearch(const Libdw& dw) : dw_(dw) {}

  std::optional<TsdFields> find_fields(Elf* elf) {
    const std::unique_ptr<Dwarf, decltype(&::dwarf_end)> dwarf(
        dw_.dwarf_begin_elf(elf, DWARF_C_READ, nullptr), dw_.dwarf_end);
    if (!dwarf) return std::nullopt;
    sections_.emplace(dw_, elf);
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    // Without an argument for the split unit's entry, libdw does not search for its file.
    while (!clock_.has_passed() &&
           dw_.dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
      if (const auto fields = find_fields_in_unit(die)) return fields;
    return std::nullopt;
  }

 private:
  std::optional<TsdFields> find_fields_in_unit(Dwarf_Die& unit) {
    Dwarf_Die die;
    if (dw_.dwarf_child(&unit, &die) != 0) return std::nullopt;
    do {
      if (dw_.dwarf_tag(&die) != DW_TAG_structure_type || !is_named(die, kStruct)) continue;
      if (const auto fields = read_fields(die)) return fields;
    } while (!clock_.has_passed() && go_to_sibling(die));
    return std::nullopt;
  }

  std::optional<TsdFields> read_fields(Dwarf_Die& structure) const {
    std::optional<std::int64_t> allocated;
    std::optional<std::int64_t> deallocated;
    Dwarf_Die member;
    if (dw_.dwarf_child(&structure, &member) != 0) return std::nullopt;
    do {
      if (dw_.dwarf_tag(&member) != DW_TAG_member) continue;
      if (is_named(member, kAllocated)) allocated = offset_of_member(member);
      if (is_named(member, kDeallocated)) deallocated = offset_of_member(member);
    } while (go_to_sibling(member));
    if (!allocated || !deallocated || *allocated >= *deallocated) return std::nullopt;
    return TsdFields{*allocated, *deallocated};
  }

  // Only uses texts in the file itself: for those in another file libdw would open it.
  bool is_named(Dwarf_Die& die, std::string_view expected) const {
    Dwarf_Attribute attribute;
    if (dw_.dwarf_attr(&die, DW_AT_name, &attribute) == nullptr) return false;
    const unsigned form = dw_.dwarf_whatform(&attribute);
    if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) return false;
    const char* name = dw_.dwarf_formstring(&attribute);
    return name != nullptr && sections_->has_text(name, expected);
  }

  // Goes to the next entry of the same level; a hostile entry may claim to precede this one.
  bool go_to_sibling(Dwarf_Die& die) const {
    Dwarf_Die following;
    if (dw_.dwarf_siblingof(&die, &following) != 0 ||
        dw_.dwarf_dieoffset(&following) <= dw_.dwarf_dieoffset(&die))
      return false;
    die = following;
    return true;
  }

  std::optional<std::int64_t> offset_of_member(Dwarf_Die& member) const {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dw_.dwarf_attr(&member, DW_AT_data_member_location, &attribute) == nullptr)
      return std::nullopt;
    if (dw_.dwarf_formudata(&attribute, &offset) != 0) return std::nullopt;
    return static_cast<std::int64_t>(offset);
  }

  const Libdw& dw_;
  std::optional<SectionTexts> sections_;
  Deadline clock_;
};

std::optional<TsdFields> find_fields_in_package(const Libdw& dw, const ElfFile& file) {
  const DwpUnits units(file);
  Deadline clock;
  for (std::uint32_t unit = 0; unit < units.size() && !clock.has_passed(); ++unit) {
    std::string image = units.build_image(unit);
    if (!file.budget()->charge(image.size())) break;
    const ElfHandle elf(image.empty() ? nullptr : dw.elf_memory(image.data(), image.size()),
                        dw.elf_end);
    if (const auto fields = elf ? EntrySearch(dw).find_fields(elf.get()) : std::nullopt)
      return fields;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TsdFields> find_tsd_fields(const ElfFile& file) {
  const DebugSections sections = find_debug_sections(file);
  if (!sections.has_info) return std::nullopt;
  if (sections.bytes > kMaxDebugBytes || !file.budget()->charge(sections.bytes))
    return std::nullopt;
  const Libdw* dw = get_libdw();
  if (!dw) return std::nullopt;
  if (sections.is_package) return find_fields_in_package(*dw, file);
  const ElfHandle elf(dw->elf_begin(file.fd(), ELF_C_READ, nullptr), dw->elf_end);
  return elf ? EntrySearch(*dw).find_fields(elf.get()) : std::nullopt;
}

namespace {

constexpr std::uint64_t kMaxNotes = 64 << 10;
constexpr std::uint64_t kMaxLink = 4096;
constexpr std::uint64_t kMaxChecksumBytes = 256ULL << 20;
constexpr std::size_t kChecksumPieceBytes = 1 << 20;

constexpr const char* kDebugDirectory = "/usr/lib/debug";

std::size_t pad_to_four(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Parses notes: header, name, content, each padded to four bytes.
std::string parse_build_id(std::string_view notes) {
  Elf64_Nhdr head{};
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    const std::size_t name = pad_to_four(head.n_namesz);
    if (name > notes.size() || head.n_descsz > notes.size() - name) break;
    const bool gnu = notes.substr(0, std::min<std::size_t>(head.n_namesz, 3)) == "GNU";
    if (gnu && head.n_type == NT_GNU_BUILD_ID)
      return std::string(notes.substr(name, head.n_descsz));
    notes.remove_prefix(std::min(notes.size(), name + pad_to_four(head.n_descsz)));
  }
  return {};
}

std::string read_build_id(const ElfFile& file) {
  for (const NamedSection& section : file.named_sections()) {
    if (section.header.sh_type != SHT_NOTE) continue;
    const auto notes =
        file.table<char>(section.header.sh_offset, section.header.sh_size, kMaxNotes);
    if (auto id = parse_build_id({notes.data(), notes.size()}); !id.empty()) return id;
  }
  return {};
}

// Reads a name, padded to four bytes, and the checksum of the file of that name.
void read_link(const ElfFile& file, const Elf64_Shdr& header, DebugHints& hints) {
  const auto bytes = file.table<char>(header.sh_offset, header.sh_size, kMaxLink);
  const auto end = std::find(bytes.begin(), bytes.end(), '\0');
  const std::size_t at = pad_to_four(static_cast<std::size_t>(end - bytes.begin()) + 1);
  if (end == bytes.end() || at + sizeof hints.checksum > bytes.size()) return;
  const std::string name(bytes.begin(), end);
  if (name.empty() || name.find('/') != name.npos) return;
  hints.link = name;
  std::memcpy(&hints.checksum, bytes.data() + at, sizeof hints.checksum);
}

std::optional<std::uint32_t> compute_checksum(const ElfFile& file, std::uint64_t size) {
  if (size > kMaxChecksumBytes) return std::nullopt;
  uLong sum = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < size; at += kChecksumPieceBytes) {
    const auto piece = file.table<Bytef>(at, size - at, kChecksumPieceBytes);
    if (piece.empty()) return std::nullopt;
    sum = ::crc32(sum, piece.data(), static_cast<uInt>(piece.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

enum class MatchKind : std::uint8_t { None, BuildId, Checksum };

struct Candidate {
  std::string path;
  MatchKind match_kind;
};

std::string format_hex(std::string_view bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::vector<Candidate> list_candidates(const std::string& path, const DebugHints& hints) {
  // A package contains no build id: only its name ties it to the file.
  std::vector<Candidate> found{{path + ".dwp", MatchKind::None},
                               {path + ".debuginfo", MatchKind::BuildId},
                               {path + ".debug", MatchKind::BuildId}};
  if (const std::string id = format_hex(hints.build_id); id.size() > 2)
    found.push_back({std::string(kDebugDirectory) + "/.build-id/" + id.substr(0, 2) + '/' +
                         id.substr(2) + ".debug",
                     MatchKind::BuildId});
  if (hints.link.empty()) return found;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  for (const std::string& directory_path :
       {directory, directory + ".debug/", kDebugDirectory + directory})
    found.push_back({directory_path + hints.link, MatchKind::Checksum});
  return found;
}

bool belongs_to_file(const ElfFile& file, const DebugHints& hints, MatchKind match_kind,
                     std::uint64_t size) {
  switch (match_kind) {
    case MatchKind::None: return true;
    case MatchKind::BuildId: return read_build_id(file) == hints.build_id;
    case MatchKind::Checksum: return compute_checksum(file, size) == hints.checksum;
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
  if (file.kind() != ElfKind::Elf64 ||
      !belongs_to_file(file, context.hints, candidate.match_kind, file.size()))
    return std::nullopt;
  return read_facts(file);
}

}  // namespace

DebugHints read_debug_hints(const ElfFile& file) {
  DebugHints hints;
  hints.build_id = read_build_id(file);
  for (const NamedSection& section : file.named_sections())
    if (section.name == ".gnu_debuglink") read_link(file, section.header, hints);
  return hints;
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
