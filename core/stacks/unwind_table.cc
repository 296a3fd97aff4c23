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

bool is_signal_frame(const UnwindRule& rule) {
  return rule.cfa == Cfa::AtSp && rule.cfa_added == 0 && rule.ra == RegisterLocation::AtSp &&
         rule.bp == RegisterLocation::AtSp && rule.ra_offset == rule.cfa_offset + kSignalIpFromSp &&
         rule.bp_offset == rule.cfa_offset + kSignalBpFromSp;
}

// Returns false if a table cannot express how the CFA is found.
bool pack_cfa(const UnwindRule& rule, ctprof_unwind_rule& target) {
  const bool is_stored = rule.cfa == Cfa::AtSp || rule.cfa == Cfa::AtBp;
  const bool uses_sp = rule.cfa == Cfa::Sp || rule.cfa == Cfa::AtSp;
  target.cfa_offset = rule.cfa_offset;
  if (!is_stored) {
    target.kind = uses_sp ? CTPROF_UNWIND_SP : CTPROF_UNWIND_BP;
    return true;
  }
  target.kind = uses_sp ? CTPROF_UNWIND_AT_SP : CTPROF_UNWIND_AT_BP;
  constexpr std::int32_t kMaxOffset = std::numeric_limits<std::int32_t>::max() >> kAddedBits;
  if (!fits_in<std::int8_t>(rule.cfa_added) || rule.cfa_offset > kMaxOffset ||
      rule.cfa_offset < -kMaxOffset)
    return false;
  const auto offset = static_cast<std::uint32_t>(rule.cfa_offset) << kAddedBits;
  target.cfa_offset = static_cast<std::int32_t>(offset | static_cast<std::uint8_t>(rule.cfa_added));
  return true;
}

bool pack_bp(const UnwindRule& rule, ctprof_unwind_rule& target) {
  switch (rule.bp) {
    case RegisterLocation::AtCfa: target.bp = CTPROF_UNWIND_AT_CFA; break;
    case RegisterLocation::AtSp: target.bp = CTPROF_UNWIND_SAVED_AT_SP; break;
    case RegisterLocation::AtBp: target.bp = CTPROF_UNWIND_SAVED_AT_BP; break;
    default: return true;  // as in the Unwinder: the register is unchanged
  }
  target.bp_offset = static_cast<std::int16_t>(rule.bp_offset);
  return fits_in<std::int16_t>(rule.bp_offset);
}

// Collects ranges of addresses, each with the rule that applies from its start on.
class RuleRanges {
 public:
  struct Range {
    FileAddress start;
    std::uint16_t rule;
  };

  explicit RuleRanges(const PackLimits& limits)
      : max_ranges_(limits.rows), max_rules_(std::min(limits.rules, UnwindTable::kMaxRules)) {
    find_or_add_rule(kPackedNone);
    find_or_add_rule(kPackedUnknown);
  }

  // Returns false if there are too many ranges. REQUIRES: calls are in address order.
  bool add(FileAddress start, const ctprof_unwind_rule& rule) {
    const std::uint16_t number = find_or_add_rule(rule);
    if (!all_.empty() && all_.back().start == start) all_.pop_back();
    if ((all_.empty() ? UnwindTable::kNoRule : all_.back().rule) == number) return true;
    all_.push_back({start, number});
    return all_.size() <= max_ranges_;
  }

  // Return the rule at an address, and the ranges after it.
  std::uint16_t find_rule(FileAddress address) const {
    const auto next = find_after(address);
    return next == all_.begin() ? UnwindTable::kNoRule : std::prev(next)->rule;
  }
  std::vector<Range>::const_iterator find_after(FileAddress address) const {
    return std::ranges::upper_bound(all_, address, {}, &Range::start);
  }
  std::vector<Range>::const_iterator end() const { return all_.end(); }
  // Sets the rule for all addresses in [start, end) without one for which `applies(address)` is
  // true.
  template <class Applies>
  void fill_missing(FileAddress start, FileAddress end, const ctprof_unwind_rule& rule,
                    Applies applies) {
    const std::uint16_t number = find_or_add_rule(rule);
    const auto first = std::ranges::lower_bound(all_, start, {}, &Range::start);
    std::vector<Range> filled(all_.begin(), first);
    const auto append = [&](FileAddress at, std::uint16_t number_to_append) {
      if ((filled.empty() ? UnwindTable::kNoRule : filled.back().rule) != number_to_append)
        filled.push_back({at, number_to_append});
    };
    for (FileAddress at = start; at < end; ++at) {
      const std::uint16_t known = find_rule(at);
      append(at, known == UnwindTable::kNoRule && applies(at) ? number : known);
    }
    append(end, find_rule(end));
    filled.insert(filled.end(), find_after(end), this->end());
    all_ = std::move(filled);
  }
  std::vector<ctprof_unwind_rule> take_rules() { return std::move(rules_); }

 private:
  // The first two rules always exist.
  bool has_capacity() const {
    return rules_.size() <= UnwindTable::kUnknownRule || rules_.size() < max_rules_;
  }
  // Returns the number of a rule. Rules beyond the limit are unknown.
  std::uint16_t find_or_add_rule(const ctprof_unwind_rule& rule) {
    std::uint64_t key = 0;
    static_assert(sizeof key == sizeof rule);
    std::memcpy(&key, &rule, sizeof key);
    if (key == last_key_) return last_number_;
    const auto known = numbers_.find(key);
    if (known == numbers_.end() && !has_capacity()) return UnwindTable::kUnknownRule;
    if (known == numbers_.end()) rules_.push_back(rule);
    last_key_ = key;
    last_number_ =
        known != numbers_.end() ? known->second : static_cast<std::uint16_t>(rules_.size() - 1);
    if (known == numbers_.end()) numbers_.emplace(key, last_number_);
    return last_number_;
  }

  std::size_t max_ranges_, max_rules_;
  std::vector<Range> all_;
  std::vector<ctprof_unwind_rule> rules_;
  std::unordered_map<std::uint64_t, std::uint16_t, SeededHash> numbers_;
  std::uint64_t last_key_ = UINT64_MAX;
  std::uint16_t last_number_ = 0;
};

// Returns the code segments in file order; nothing if two of them overlap.
std::optional<std::vector<Elf64_Phdr>> find_code_segments(const ElfFile& file) {
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
class PageWriter {
 public:
  PageWriter(UnwindTable& table, std::uint64_t first_offset, const PackLimits& limits)
      : table_(table), limits_(limits) {
    table_.first_page = first_offset >> UnwindTable::kPageBits;
  }

  // Applies a rule from this offset on. Returns false if there are too many rows or pages.
  bool add(std::uint64_t offset, std::uint16_t rule) {
    if (!add_pages_up_to(offset)) return false;
    const auto offset_in_page = static_cast<std::uint16_t>(offset % kPageSize);
    ctprof_unwind_page& page = table_.pages.back();
    ctprof_unwind_row& last = table_.rows.back();
    if (last.place == offset_in_page) {
      last.rule = rule;
    } else if (last.rule != rule) {
      table_.rows.push_back({offset_in_page, rule});
      ++page.rows_count;
    }
    current_rule_ = rule;
    return table_.rows.size() <= limits_.rows;
  }

 private:
  // Adds pages up to an offset. Each page begins with the rule that applies at its first offset.
  bool add_pages_up_to(std::uint64_t offset) {
    const std::uint64_t last_page = (offset >> UnwindTable::kPageBits) - table_.first_page;
    if (last_page >= limits_.pages) return false;
    while (table_.pages.size() <= last_page) {
      table_.pages.push_back({static_cast<std::uint32_t>(table_.rows.size()), 1});
      table_.rows.push_back({0, current_rule_});
    }
    return true;
  }

  UnwindTable& table_;
  const PackLimits& limits_;
  std::uint16_t current_rule_ = UnwindTable::kNoRule;
};

// Returns whether the code at an address has no path to a return instruction.
bool has_no_return(const ElfFile& file, FileAddress address) {
  const auto stored = file.find_stored_bytes(address);
  if (!stored) return false;
  const std::uint64_t before = std::min(stored->offset, kCodeBytesBefore),
                      size = before + kCodeBytesAfter;
  const std::string code = file.read_bytes(stored->offset - before, size, size);
  return code.size() > before && !guess_from_code(code, before, address - before).has_return_path;
}

// Marks the start function of a program as a root, as the Unwinder does
// (Modules::is_program_start).
void mark_start_function(const ElfFile& file, RuleRanges& ranges) {
  const FileAddress start = file.entry();
  if (start == 0 || start > UINT64_MAX - kMaxStartFunctionSize) return;
  ranges.fill_missing(start, start + kMaxStartFunctionSize, kPackedRoot,
                      [&](FileAddress address) { return has_no_return(file, address); });
}

bool add_segment(const Elf64_Phdr& segment, const RuleRanges& ranges, PageWriter& pages) {
  const FileAddress end = segment.p_vaddr + segment.p_filesz;
  if (end < segment.p_vaddr) return false;
  if (!pages.add(segment.p_offset, ranges.find_rule(segment.p_vaddr))) return false;
  for (auto range = ranges.find_after(segment.p_vaddr); range != ranges.end() && range->start < end;
       ++range)
    if (!pages.add(segment.p_offset + (range->start - segment.p_vaddr), range->rule)) return false;
  return pages.add(segment.p_offset + segment.p_filesz, UnwindTable::kNoRule);
}

}  // namespace

ctprof_unwind_rule pack_rule(const UnwindRule& rule) {
  if (rule.cfa == Cfa::None) return kPackedNone;
  if (rule.is_signal)
    return is_signal_frame(rule)
               ? ctprof_unwind_rule{CTPROF_UNWIND_SIGNAL, CTPROF_UNWIND_SAME, 0, rule.cfa_offset}
               : kPackedUnknown;
  if (rule.ra == RegisterLocation::Undefined) return kPackedRoot;
  ctprof_unwind_rule target = kPackedNone;
  const bool is_known = rule.cfa != Cfa::Unknown && rule.ra == RegisterLocation::AtCfa &&
                        rule.ra_offset == kReturnFromCfa && pack_cfa(rule, target) &&
                        pack_bp(rule, target);
  return is_known ? target : kPackedUnknown;
}

const ctprof_unwind_rule& UnwindTable::find_rule(std::uint64_t offset) const {
  const std::uint64_t number = (offset >> kPageBits) - first_page;
  if (number >= pages.size()) return kPackedNone;
  const ctprof_unwind_page& page = pages[number];
  const auto first = rows.begin() + page.first_row;
  const auto next_row = std::upper_bound(
      first, first + page.rows_count, offset % kPageSize,
      [](std::uint64_t at, const ctprof_unwind_row& row) { return at < row.place; });
  return rules[std::prev(next_row)->rule];
}

std::size_t UnwindTable::get_memory_size() const {
  return pages.size() * sizeof(ctprof_unwind_page) + rows.size() * sizeof(ctprof_unwind_row) +
         rules.size() * sizeof(ctprof_unwind_rule);
}

std::optional<UnwindTable> pack_rules(const ElfFile& file, const Cfi& cfi,
                                      const PackLimits& limits) {
  const auto segments = find_code_segments(file);
  if (!file.is_valid() || file.machine() != EM_X86_64 || !segments) return std::nullopt;
  UnwindTable table;
  RuleRanges ranges(limits);
  const bool is_complete =
      cfi.visit_all_rules(limits.steps, [&](FileAddress start, const UnwindRule& rule) {
        return ranges.add(start, pack_rule(rule));
      });
  if (!is_complete) return std::nullopt;
  mark_start_function(file, ranges);
  PageWriter pages(table, segments->empty() ? 0 : segments->front().p_offset, limits);
  for (const Elf64_Phdr& segment : *segments)
    if (!add_segment(segment, ranges, pages)) return std::nullopt;
  table.rules = ranges.take_rules();
  return table;
}

}  // namespace ctprof
