#include "core/stacks/cfi.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stacks/byte_cursor.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/unpack.hpp"

namespace ctprof {
namespace {

// Limit on one section.
constexpr std::uint64_t kMostSectionBytes = 64 << 20;
// Limit on an unpacked section, as a small file can claim a large one. Each byte is a step.
constexpr std::uint64_t kMostUnpackedBytes = 16 << 20;
// Limit on rules of .debug_frame or of a Go program while .eh_frame is visited: 64 MiB. A Go
// program with 63 MiB of code has 1.3 million rules.
constexpr std::size_t kMostSecondRules = 2 << 20;
// Bytes that are read in one step.
constexpr std::uint64_t kBytesInStep = 8;
constexpr std::uint8_t kNearPointer = 0x1b;  // four bytes, signed, relative to their own address

// Reads the address of .eh_frame from the header of its table.
FileAddress eh_frame_address(std::string_view header, FileAddress address) {
  ByteCursor cursor(header, 1);
  const bool near = cursor.get<std::uint8_t>() == kNearPointer;
  cursor.skip(2);
  const FileAddress here = address + cursor.position();
  const auto distance = cursor.get<std::int32_t>();
  return near && cursor.ok() ? here + static_cast<std::uint64_t>(std::int64_t{distance}) : 0;
}

// Reads the bytes of .eh_frame. Without section headers, its end is the end of the segment.
std::string loaded_bytes(const ElfFile& file, FileAddress address,
                         const std::optional<Elf64_Shdr>& section) {
  const auto place = file.place_of(address);
  if (!place) return {};
  const bool told = section && section->sh_addr == address;
  return file.bytes(place->offset, told ? section->sh_size : place->size, kMostSectionBytes);
}

// Merges the rules of two sources: where the first source has none, the rules of the second one
// apply. REQUIRES: the second rules are in address order and outlive this object.
class Filled {
 public:
  // A std::vector would need three times the memory while it grows.
  using Rules = std::deque<std::pair<FileAddress, Rule>>;

  Filled(const Rules& second, const RuleVisitor& visit) : second_(second), visit_(visit) {}

  bool add(FileAddress start, const Rule& rule) {
    if (start > at_ && !pass(start)) return false;
    at_ = start;
    rule_ = rule;
    return true;
  }
  bool finish() { return pass(UINT64_MAX); }

 private:
  // Visits the rules from at_ to `end`.
  bool pass(FileAddress end) {
    if (rule_.cfa != Cfa::None) return visit_(at_, rule_);
    auto next = std::ranges::upper_bound(second_, at_, {}, &Rules::value_type::first);
    if (!visit_(at_, next == second_.begin() ? Rule{} : std::prev(next)->second)) return false;
    for (; next != second_.end() && next->first < end; ++next)
      if (!visit_(next->first, next->second)) return false;
    return true;
  }

  const Rules& second_;
  const RuleVisitor& visit_;
  FileAddress at_ = 0;
  Rule rule_;
};

}  // namespace

FrameEntries Cfi::read_eh_frame(const ElfFile& file) {
  const auto section = file.section(".eh_frame");
  const Elf64_Phdr* table = file.segment(PT_GNU_EH_FRAME);
  const std::string header =
      table ? file.bytes(table->p_offset, table->p_filesz, kMostSectionBytes) : std::string();
  const FileAddress pointed = table ? eh_frame_address(header, table->p_vaddr) : 0;
  const FileAddress address = pointed != 0 || !section ? pointed : section->sh_addr;
  if (section && section->sh_size > kMostSectionBytes) is_cut_ = true;
  FrameEntries entries(FrameEntries::Format::EhFrame, loaded_bytes(file, address, section),
                       address);
  if (pointed == 0 || !entries.take_table(header, table->p_vaddr)) entries.make_table();
  return entries;
}

std::string Cfi::unpacked(std::string_view section) {
  std::string bytes = unpacked_section(section, kMostUnpackedBytes);
  steps_ += bytes.size();
  const auto claimed = ByteCursor(section, offsetof(Elf64_Chdr, ch_size)).get<std::uint64_t>();
  if (claimed > kMostUnpackedBytes) is_cut_ = true;
  return bytes;
}

FrameEntries Cfi::read_debug_frame(const ElfFile& file) {
  const auto section = file.section(".debug_frame");
  if (!section || section->sh_type == SHT_NOBITS) return {};
  std::string bytes = file.bytes(section->sh_offset, section->sh_size, kMostSectionBytes);
  if (section->sh_size > kMostSectionBytes) is_cut_ = true;
  if ((section->sh_flags & SHF_COMPRESSED) != 0) bytes = unpacked(bytes);
  FrameEntries entries(FrameEntries::Format::DebugFrame, std::move(bytes), 0);
  entries.make_table();
  return entries;
}

Cfi::Cfi(const ElfFile& file) {
  if (!file.is_valid()) return;
  if (file.machine() == EM_AARCH64) registers_ = kArmRegisters;
  eh_frame_ = read_eh_frame(file);
  go_ = shared_go_table(file);
  if (!go_->has_functions()) debug_frame_ = read_debug_frame(file);
  steps_ += bytes() / kBytesInStep;
}

std::optional<FunctionRange> Cfi::function_at(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function) function = debug_frame_.find(address);
  return function ? std::optional(FunctionRange{function->start, function->size}) : std::nullopt;
}

void Cfi::drop() {
  steps_ = steps();
  eh_frame_ = {};
  debug_frame_ = {};
  go_ = nullptr;
  programs_.clear();
}

Rule Cfi::rule_at(FileAddress address) const {
  auto function = eh_frame_.find(address);
  if (!function && go_ && go_->has_functions()) return go_->rule_at(address);
  if (!function) function = debug_frame_.find(address);
  return function ? rule_in(*function, address, registers_, programs_, steps_) : Rule{};
}

bool Cfi::visit_rules(const FrameEntries& entries, std::uint64_t most_steps,
                      const RuleVisitor& visit) const {
  FileAddress reached = 0;
  const bool is_whole = entries.for_each(
      most_steps, [&](const FunctionEntry& function, FileAddress begin, FileAddress end) {
        if (begin > reached && !visit(reached, Rule{})) return false;
        reached = end;
        return visit_rules_in(function, begin, end, registers_, programs_, steps_, visit);
      });
  return is_whole && visit(reached, Rule{});
}

bool Cfi::for_each_rule(std::uint64_t most_steps, const RuleVisitor& visit) const {
  const std::uint64_t before = steps();
  const bool is_cut = this->is_cut();
  const RuleVisitor within_limit = [&](FileAddress start, const Rule& rule) {
    Rule visited = rule;
    if (is_cut && rule.cfa == Cfa::None) visited.cfa = Cfa::Unknown;
    return steps() - before <= most_steps && visit(start, visited);
  };
  Filled::Rules second;
  const RuleVisitor keep = [&](FileAddress start, const Rule& rule) {
    if (!second.empty() && second.back().first == start) second.pop_back();
    second.emplace_back(start, rule);
    return steps() - before <= most_steps && second.size() < kMostSecondRules;
  };
  const bool has_second = go_ && go_->has_functions() ? go_->for_each_rule(keep)
                                                      : visit_rules(debug_frame_, most_steps, keep);
  if (!has_second) return false;
  Filled filled(second, within_limit);
  const RuleVisitor fill = [&](FileAddress start, const Rule& rule) {
    return filled.add(start, rule);
  };
  return visit_rules(eh_frame_, most_steps, fill) && filled.finish();
}

}  // namespace ctprof
