#include "core/stacks/unwind_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/code_guess.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kPageSize = std::uint64_t{1} << UnwindTable::kPageBits;
// Offsets in the kernel's signal frame: see CTPROF_UNWIND_SIGNAL.
constexpr std::int32_t kSignalIpFromSp = 8, kSignalBpFromSp = -40;
constexpr std::int32_t kReturnFromCfa = -8;
// CTPROF_UNWIND_AT_SP: the offset is stored above the byte that is added.
constexpr unsigned kAddedBits = 8;

template <class Small>
bool fits_in(std::int64_t value) {
  return value == static_cast<Small>(value);
}

constexpr ctprof_unwind_rule kPackedNone{CTPROF_UNWIND_NONE, CTPROF_UNWIND_SAME, 0, 0};
constexpr ctprof_unwind_rule kPackedUnknown{CTPROF_UNWIND_UNKNOWN, CTPROF_UNWIND_SAME, 0, 0};
constexpr ctprof_unwind_rule kPackedRoot{CTPROF_UNWIND_ROOT, CTPROF_UNWIND_SAME, 0, 0};

bool is_signal_frame(const Rule& rule) {
  return rule.cfa == Cfa::AtSp && rule.cfa_added == 0 && rule.ra == Saved::AtSp &&
         rule.bp == Saved::AtSp && rule.ra_offset == rule.cfa_offset + kSignalIpFromSp &&
         rule.bp_offset == rule.cfa_offset + kSignalBpFromSp;
}

// Returns false if a table cannot express how the CFA is found.
bool pack_cfa(const Rule& rule, ctprof_unwind_rule& to) {
  const bool is_stored = rule.cfa == Cfa::AtSp || rule.cfa == Cfa::AtBp;
  const bool is_of_sp = rule.cfa == Cfa::Sp || rule.cfa == Cfa::AtSp;
  to.cfa_offset = rule.cfa_offset;
  if (!is_stored) {
    to.kind = is_of_sp ? CTPROF_UNWIND_SP : CTPROF_UNWIND_BP;
    return true;
  }
  to.kind = is_of_sp ? CTPROF_UNWIND_AT_SP : CTPROF_UNWIND_AT_BP;
  constexpr std::int32_t kFarthest = std::numeric_limits<std::int32_t>::max() >> kAddedBits;
  if (!fits_in<std::int8_t>(rule.cfa_added) || rule.cfa_offset > kFarthest ||
      rule.cfa_offset < -kFarthest)
    return false;
  const auto offset = static_cast<std::uint32_t>(rule.cfa_offset) << kAddedBits;
  to.cfa_offset = static_cast<std::int32_t>(offset | static_cast<std::uint8_t>(rule.cfa_added));
  return true;
}

bool pack_bp(const Rule& rule, ctprof_unwind_rule& to) {
  switch (rule.bp) {
    case Saved::AtCfa: to.bp = CTPROF_UNWIND_AT_CFA; break;
    case Saved::AtSp: to.bp = CTPROF_UNWIND_SAVED_AT_SP; break;
    case Saved::AtBp: to.bp = CTPROF_UNWIND_SAVED_AT_BP; break;
    default: return true;  // as in the Unwinder: the register is unchanged
  }
  to.bp_offset = static_cast<std::int16_t>(rule.bp_offset);
  return fits_in<std::int16_t>(rule.bp_offset);
}

// Collects ranges of addresses, each with the rule that applies from its start on.
class Ranges {
 public:
  struct Range {
    FileAddress start;
    std::uint16_t rule;
  };

  explicit Ranges(const PackLimits& limits)
      : most_(limits.rows), most_rules_(std::min(limits.rules, UnwindTable::kMostRules)) {
    number_of(kPackedNone);
    number_of(kPackedUnknown);
  }

  // Returns false if there are too many ranges. REQUIRES: calls are in address order.
  bool add(FileAddress start, const ctprof_unwind_rule& rule) {
    const std::uint16_t number = number_of(rule);
    if (!all_.empty() && all_.back().start == start) all_.pop_back();
    if ((all_.empty() ? UnwindTable::kNone : all_.back().rule) == number) return true;
    all_.push_back({start, number});
    return all_.size() <= most_;
  }

  // Return the rule at an address, and the ranges after it.
  std::uint16_t rule_at(FileAddress address) const {
    const auto next = after(address);
    return next == all_.begin() ? UnwindTable::kNone : std::prev(next)->rule;
  }
  std::vector<Range>::const_iterator after(FileAddress address) const {
    return std::ranges::upper_bound(all_, address, {}, &Range::start);
  }
  std::vector<Range>::const_iterator end() const { return all_.end(); }
  // Sets the rule for all addresses in [start, end) without one for which `applies(address)` is
  // true.
  template <class Applies>
  void fill(FileAddress start, FileAddress end, const ctprof_unwind_rule& rule, Applies applies) {
    const std::uint16_t number = number_of(rule);
    const auto first = std::ranges::lower_bound(all_, start, {}, &Range::start);
    std::vector<Range> filled(all_.begin(), first);
    const auto put = [&](FileAddress at, std::uint16_t put_number) {
      if ((filled.empty() ? UnwindTable::kNone : filled.back().rule) != put_number)
        filled.push_back({at, put_number});
    };
    for (FileAddress at = start; at < end; ++at) {
      const std::uint16_t known = rule_at(at);
      put(at, known == UnwindTable::kNone && applies(at) ? number : known);
    }
    put(end, rule_at(end));
    filled.insert(filled.end(), after(end), this->end());
    all_ = std::move(filled);
  }
  std::vector<ctprof_unwind_rule> take_rules() { return std::move(rules_); }

 private:
  // The first two rules always exist.
  bool has_room() const {
    return rules_.size() <= UnwindTable::kUnknown || rules_.size() < most_rules_;
  }
  // Returns the number of a rule. Rules beyond the limit are unknown.
  std::uint16_t number_of(const ctprof_unwind_rule& rule) {
    std::uint64_t key = 0;
    static_assert(sizeof key == sizeof rule);
    std::memcpy(&key, &rule, sizeof key);
    if (key == last_key_) return last_number_;
    const auto known = numbers_.find(key);
    if (known == numbers_.end() && !has_room()) return UnwindTable::kUnknown;
    if (known == numbers_.end()) rules_.push_back(rule);
    last_key_ = key;
    last_number_ =
        known != numbers_.end() ? known->second : static_cast<std::uint16_t>(rules_.size() - 1);
    if (known == numbers_.end()) numbers_.emplace(key, last_number_);
    return last_number_;
  }

  std::size_t most_, most_rules_;
  std::vector<Range> all_;
  std::vector<ctprof_unwind_rule> rules_;
  std::unordered_map<std::uint64_t, std::uint16_t, SeededHash> numbers_;
  std::uint64_t last_key_ = UINT64_MAX;
  std::uint16_t last_number_ = 0;
};

// Returns the code segments in file order; nothing if two of them overlap.
std::optional<std::vector<Elf64_Phdr>> code_segments(const ElfFile& file) {
  std::vector<Elf64_Phdr> code;
  for (const Elf64_Phdr& segment : file.segments())
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && segment.p_filesz != 0)
      code.push_back(segment);
  std::ranges::sort(code, {}, &Elf64_Phdr::p_offset);
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : code) {
    if (segment.p_offset < end || segment.p_filesz > UINT64_MAX - segment.p_offset)
      return std::nullopt;
    end = segment.p_offset + segment.p_filesz;
  }
  return code;
}

// Writes rows in order of file offsets, page by page.
class Pages {
 public:
  Pages(UnwindTable& table, std::uint64_t first_place, const PackLimits& limits)
      : table_(table), limits_(limits) {
    table_.first_page = first_place >> UnwindTable::kPageBits;
  }

  // Applies a rule from this offset on. Returns false if there are too many rows or pages.
  bool add(std::uint64_t place, std::uint16_t rule) {
    if (!reach(place)) return false;
    const auto in_page = static_cast<std::uint16_t>(place % kPageSize);
    ctprof_unwind_page& page = table_.pages.back();
    ctprof_unwind_row& last = table_.rows.back();
    if (last.place == in_page) {
      last.rule = rule;
    } else if (last.rule != rule) {
      table_.rows.push_back({in_page, rule});
      ++page.rows_count;
    }
    current_ = rule;
    return table_.rows.size() <= limits_.rows;
  }

 private:
  // Adds pages up to an offset. Each page begins with the rule that applies at its first offset.
  bool reach(std::uint64_t place) {
    const std::uint64_t wanted = (place >> UnwindTable::kPageBits) - table_.first_page;
    if (wanted >= limits_.pages) return false;
    while (table_.pages.size() <= wanted) {
      table_.pages.push_back({static_cast<std::uint32_t>(table_.rows.size()), 1});
      table_.rows.push_back({0, current_});
    }
    return true;
  }

  UnwindTable& table_;
  const PackLimits& limits_;
  std::uint16_t current_ = UnwindTable::kNone;
};

// Returns whether the code at an address has no path to a return instruction.
bool is_endless(const ElfFile& file, FileAddress address) {
  const auto place = file.place_of(address);
  if (!place) return false;
  const std::uint64_t before = std::min(place->offset, kCodeBefore), size = before + kCodeBehind;
  const std::string code = file.bytes(place->offset - before, size, size);
  return code.size() > before && !guess_from_code(code, before, address - before).returns;
}

// Marks the start function of a program as a root, as the Unwinder does (Modules::is_start).
void mark_start(const ElfFile& file, Ranges& ranges) {
  const FileAddress start = file.entry();
  if (start == 0 || start > UINT64_MAX - kLongestStart) return;
  ranges.fill(start, start + kLongestStart, kPackedRoot,
              [&](FileAddress address) { return is_endless(file, address); });
}

bool add_segment(const Elf64_Phdr& segment, const Ranges& ranges, Pages& pages) {
  const FileAddress end = segment.p_vaddr + segment.p_filesz;
  if (end < segment.p_vaddr) return false;
  if (!pages.add(segment.p_offset, ranges.rule_at(segment.p_vaddr))) return false;
  for (auto range = ranges.after(segment.p_vaddr); range != ranges.end() && range->start < end;
       ++range)
    if (!pages.add(segment.p_offset + (range->start - segment.p_vaddr), range->rule)) return false;
  return pages.add(segment.p_offset + segment.p_filesz, UnwindTable::kNone);
}

}  // namespace

ctprof_unwind_rule packed(const Rule& rule) {
  if (rule.cfa == Cfa::None) return kPackedNone;
  if (rule.is_signal)
    return is_signal_frame(rule)
               ? ctprof_unwind_rule{CTPROF_UNWIND_SIGNAL, CTPROF_UNWIND_SAME, 0, rule.cfa_offset}
               : kPackedUnknown;
  if (rule.ra == Saved::Nowhere) return kPackedRoot;
  ctprof_unwind_rule to = kPackedNone;
  const bool is_known = rule.cfa != Cfa::Unknown && rule.ra == Saved::AtCfa &&
                        rule.ra_offset == kReturnFromCfa && pack_cfa(rule, to) && pack_bp(rule, to);
  return is_known ? to : kPackedUnknown;
}

const ctprof_unwind_rule& UnwindTable::rule_at(std::uint64_t place) const {
  const std::uint64_t number = (place >> kPageBits) - first_page;
  if (number >= pages.size()) return kPackedNone;
  const ctprof_unwind_page& page = pages[number];
  const auto first = rows.begin() + page.first_row;
  const auto after = std::upper_bound(
      first, first + page.rows_count, place % kPageSize,
      [](std::uint64_t at, const ctprof_unwind_row& row) { return at < row.place; });
  return rules[std::prev(after)->rule];
}

std::size_t UnwindTable::bytes() const {
  return pages.size() * sizeof(ctprof_unwind_page) + rows.size() * sizeof(ctprof_unwind_row) +
         rules.size() * sizeof(ctprof_unwind_rule);
}

std::optional<UnwindTable> pack_rules(const ElfFile& file, const Cfi& cfi,
                                      const PackLimits& limits) {
  const auto segments = code_segments(file);
  if (!file.is_valid() || file.machine() != EM_X86_64 || !segments) return std::nullopt;
  UnwindTable table;
  Ranges ranges(limits);
  const bool is_whole = cfi.for_each_rule(limits.steps, [&](FileAddress start, const Rule& rule) {
    return ranges.add(start, packed(rule));
  });
  if (!is_whole) return std::nullopt;
  mark_start(file, ranges);
  Pages pages(table, segments->empty() ? 0 : segments->front().p_offset, limits);
  for (const Elf64_Phdr& segment : *segments)
    if (!add_segment(segment, ranges, pages)) return std::nullopt;
  table.rules = ranges.take_rules();
  return table;
}

}  // namespace ctprof
