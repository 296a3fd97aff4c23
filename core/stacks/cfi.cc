#include "core/stacks/cfi.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/elf/byte_cursor.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

// Limit on one section.
constexpr std::uint64_t kMaxSectionBytes = 64 << 20;
// Limit on an unpacked section, because a small file can claim a large one. Unpacking a byte counts
// as one step of work.
constexpr std::uint64_t kMaxUnpackedBytes = 16 << 20;
// Limit on the rules of one source that are stored while the other source is visited: 64 MiB. The
// rules of a Go program are never stored; one with 63 MiB of code has 1.3 million of them.
constexpr std::size_t kMaxStoredRules = 2 << 20;
// Bytes that are read in one step.
constexpr std::uint64_t kBytesPerStep = 8;
// Four bytes, signed, relative to their own address.
constexpr std::uint8_t kPcRelativeSigned4 = 0x1b;

// Reads the address of .eh_frame from the header of its table.
FileAddress read_eh_frame_address(std::string_view header, FileAddress address) {
  ByteCursor cursor(header, 1);
  const bool is_pc_relative = cursor.get<std::uint8_t>() == kPcRelativeSigned4;
  cursor.skip(2);
  const FileAddress field_address = address + cursor.position();
  const auto distance = cursor.get<std::int32_t>();
  return is_pc_relative && cursor.ok()
             ? field_address + static_cast<std::uint64_t>(std::int64_t{distance})
             : 0;
}

// Reads the bytes of .eh_frame. Without section headers, its end is the end of the segment.
std::string read_loaded_bytes(const ElfFile& file, FileAddress address,
                              const std::optional<Elf64_Shdr>& section) {
  const auto stored = file.find_stored_bytes(address);
  if (!stored) return {};
  const bool has_size = section && section->sh_addr == address;
  return file.read_bytes(stored->offset, has_size ? section->sh_size : stored->size,
                         kMaxSectionBytes);
}

// Merges the rules of two sources, of which one is visited and the other one is stored. Where the
// preferred source has no rule, the rules of the other one apply. REQUIRES: the stored rules are in
// address order and outlive this object.
class RuleMerger {
 public:
  // A std::vector would need three times the memory while it grows.
  using Rules = std::deque<std::pair<FileAddress, UnwindRule>>;
  enum class Preferred : std::uint8_t { Visited, Stored };

  RuleMerger(const Rules& stored, Preferred preferred, const RuleVisitor& visit)
      : stored_(stored), preferred_(preferred), visit_(visit) {}

  bool add(FileAddress start, const UnwindRule& rule) {
    if (start > at_ && !visit_until(start)) return false;
    at_ = start;
    rule_ = rule;
    return true;
  }
  bool finish() { return visit_until(UINT64_MAX); }

 private:
  // Visits the rules from at_ to `end`.
  bool visit_until(FileAddress end) {
    if (preferred_ == Preferred::Visited && rule_.cfa != Cfa::None) return visit_(at_, rule_);
    auto next = std::ranges::upper_bound(stored_, at_, {}, &Rules::value_type::first);
    if (!visit_(at_, choose(next == stored_.begin() ? UnwindRule{} : std::prev(next)->second)))
      return false;
    for (; next != stored_.end() && next->first < end; ++next)
      if (!visit_(next->first, choose(next->second))) return false;
    return true;
  }
  const UnwindRule& choose(const UnwindRule& stored) const {
    const auto& [first, second] =
        preferred_ == Preferred::Stored ? std::tie(stored, rule_) : std::tie(rule_, stored);
    return first.cfa != Cfa::None ? first : second;
  }

  const Rules& stored_;
  Preferred preferred_;
  const RuleVisitor& visit_;
  FileAddress at_ = 0;
  UnwindRule rule_;
};

}  // namespace

FrameEntries Cfi::read_eh_frame(const ElfFile& file) {
  const auto section = file.section(".eh_frame");
  const Elf64_Phdr* table = file.segment(PT_GNU_EH_FRAME);
  const std::string header =
      table ? file.read_bytes(table->p_offset, table->p_filesz, kMaxSectionBytes) : std::string();
  const FileAddress table_address = table ? read_eh_frame_address(header, table->p_vaddr) : 0;
  const FileAddress address = table_address != 0 || !section ? table_address : section->sh_addr;
  if (section && section->sh_size > kMaxSectionBytes) is_truncated_ = true;
  FrameEntries entries(FrameEntries::Format::EhFrame, read_loaded_bytes(file, address, section),
                       address);
  if (table_address == 0 || !entries.read_table(header, table->p_vaddr)) entries.build_table();
  return entries;
}

std::string Cfi::unpack_section(std::string_view section) {
  std::string bytes = ctprof::unpack_section(section, kMaxUnpackedBytes);
  steps_ += bytes.size();
  const auto claimed = ByteCursor(section, offsetof(Elf64_Chdr, ch_size)).get<std::uint64_t>();
  if (claimed > kMaxUnpackedBytes) is_truncated_ = true;
  return bytes;
}

FrameEntries Cfi::read_debug_frame(const ElfFile& file) {
  const auto section = file.section(".debug_frame");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  std::string bytes = file.read_bytes(section->sh_offset, section->sh_size, kMaxSectionBytes);
  if (section->sh_size > kMaxSectionBytes) is_truncated_ = true;
  if ((section->sh_flags & SHF_COMPRESSED) != 0) bytes = unpack_section(bytes);
  FrameEntries entries(FrameEntries::Format::DebugFrame, std::move(bytes), 0);
  entries.build_table();
  return entries;
}

Cfi::Cfi(const ElfFile& file) {
  if (!file.is_valid()) return;
  if (file.machine() == EM_AARCH64) registers_ = kArmRegisters;
  eh_frame_ = read_eh_frame(file);
  go_table_ = get_shared_go_table(file);
  if (!go_table_->has_functions()) debug_frame_ = read_debug_frame(file);
  steps_ += get_memory_size() / kBytesPerStep;
}

std::optional<FunctionRange> Cfi::find_function(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function) function = debug_frame_.find(address);
  return function ? std::optional(FunctionRange{function->start, function->size}) : std::nullopt;
}

void Cfi::clear() {
  steps_ = steps();
  eh_frame_ = {};
  debug_frame_ = {};
  go_table_ = nullptr;
  programs_.clear();
}

UnwindRule Cfi::find_rule(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function && go_table_ && go_table_->has_functions()) return go_table_->find_rule(address);
  if (!function) function = debug_frame_.find(address);
  return function ? find_program_rule(*function, address, registers_, programs_, steps_)
                  : UnwindRule{};
}

bool Cfi::visit_rules(const FrameEntries& entries, std::uint64_t max_steps,
                      const RuleVisitor& visit) const {
  FileAddress next_address = 0;
  const bool is_complete = entries.for_each(
      max_steps, [&](const FunctionEntry& function, FileAddress begin, FileAddress end) {
        if (begin > next_address && !visit(next_address, UnwindRule{})) return false;
        next_address = end;
        return visit_program_rules(function, begin, end, registers_, programs_, steps_, visit);
      });
  return is_complete && visit(next_address, UnwindRule{});
}

bool Cfi::visit_all_rules(std::uint64_t max_steps, const RuleVisitor& visit) const {
  const std::uint64_t steps_before = steps();
  const bool is_cut = this->is_truncated();
  const RuleVisitor within_limit = [&](FileAddress start, const UnwindRule& rule) {
    UnwindRule visited = rule;
    if (is_cut && rule.cfa == Cfa::None) visited.cfa = Cfa::Unknown;
    return steps() - steps_before <= max_steps && visit(start, visited);
  };
  RuleMerger::Rules stored;
  const RuleVisitor store = [&](FileAddress start, const UnwindRule& rule) {
    if (!stored.empty() && stored.back().first == start) stored.pop_back();
    stored.emplace_back(start, rule);
    return steps() - steps_before <= max_steps && stored.size() < kMaxStoredRules;
  };
  // .eh_frame is preferred to both other sources. A Go program has more rules than its .eh_frame,
  // which only describes C code.
  const bool is_go = go_table_ && go_table_->has_functions();
  if (!visit_rules(is_go ? eh_frame_ : debug_frame_, max_steps, store)) return false;
  using Preferred = RuleMerger::Preferred;
  RuleMerger merger(stored, is_go ? Preferred::Stored : Preferred::Visited, within_limit);
  const RuleVisitor merge = [&](FileAddress start, const UnwindRule& rule) {
    return merger.add(start, rule);
  };
  const bool is_visited =
      is_go ? go_table_->visit_all_rules(merge) : visit_rules(eh_frame_, max_steps, merge);
  return is_visited && merger.finish();
}

}  // namespace ctprof
