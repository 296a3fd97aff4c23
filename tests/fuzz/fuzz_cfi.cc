// Reads any bytes as a mapped ELF file. Checks that repeated look-ups of a rule agree, and that the
// work stays within the documented limits and the size of the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "core/stacks/cfi.hpp"
#include "core/stacks/code_guess.hpp"
#include "core/stacks/frame_program.hpp"
#include "core/stacks/symbols.hpp"
#include "core/stacks/unwind_table.hpp"

using namespace ctprof;

namespace {

bool is_same_rule(const UnwindRule& a, const UnwindRule& b) {
  return a.cfa == b.cfa && a.ra == b.ra && a.bp == b.bp && a.cfa_offset == b.cfa_offset &&
         a.ra_offset == b.ra_offset && a.bp_offset == b.bp_offset && a.is_signal == b.is_signal;
}

// Maximum steps for reading: an entry takes at least four bytes of a section, and there are two
// sections, of which one may be compressed. Maximum steps for a rule: each byte of two programs,
// and two entries.
std::uint64_t max_reading_steps(std::size_t size) {
  constexpr std::uint64_t kMaxExpansion = 1032;  // largest expansion of a byte by zlib
  const std::uint64_t entries = size * (1 + kMaxExpansion) / 4 + 2;
  const std::uint64_t most = entries * (1 + FrameEntries::kMaxStepsPerEntry) + size * kMaxExpansion;
  return std::min(most, Cfi::kMaxReadSteps);
}
std::uint64_t max_rule_steps(std::size_t size) {
  const std::uint64_t most = 2 * kMaxStepsPerByte * (1 + 1032) * size;
  return 2 * FrameEntries::kMaxStepsPerEntry + std::min(most, kMaxStepsPerRule);
}

// Checks names under a limit: each name equals the one without a limit or is empty, and their size
// is within the limit.
void check_names(const ElfFile& file, const std::vector<FileAddress>& addresses) {
  constexpr std::uint64_t kMaxNameWork = 4096;
  const auto all = find_names_in_file(file, addresses);
  NameWork work(kMaxNameWork);
  const auto some = find_names_in_file(file, addresses, nullptr, work);
  if (all.size() != addresses.size() || some.size() != addresses.size()) std::abort();
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (!some[i].empty() && some[i] != all[i]) std::abort();
    steps += some[i].size() * NameWork::kStepsPerNameByte;
  }
  if (steps + work.get_remaining_steps() > kMaxNameWork || (!work.is_exceeded() && some != all))
    std::abort();
}

// Returns whether the difference is expected: the first function of a program is a root if the
// decoder has no rule for it.
bool is_expected_root(const ElfFile& file, std::optional<std::uint64_t> address,
                      const ctprof_unwind_rule& rule, const ctprof_unwind_rule& expected) {
  return rule.kind == CTPROF_UNWIND_ROOT && expected.kind == CTPROF_UNWIND_NONE && address &&
         file.entry() != 0 && *address - file.entry() < kMaxStartFunctionSize;
}

// Checks that each rule of the packed table equals that of the decoder, or makes a walk stop.
void check_table(const ElfFile& file, const Cfi& cfi, std::size_t size) {
  constexpr PackLimits kLimits{.steps = 1 << 20, .rows = 1 << 16, .pages = 1 << 8};
  const std::uint64_t before = cfi.steps();
  const auto table = pack_rules(file, cfi, kLimits);
  // Work that may precede the check of each limit: two rules of a function, or the frame sizes of a
  // Go function.
  const std::uint64_t max_excess = 2 * max_rule_steps(size) + GoTable::kMaxSteps;
  if (cfi.steps() - before > 2 * kLimits.steps + max_excess) std::abort();
  if (!table) return;
  if (table->rows.size() > kLimits.rows || table->pages.size() > kLimits.pages) std::abort();
  for (std::uint64_t place = 0; place < 0x4000; place += 61) {
    const auto address = file.code_address(place);
    const ctprof_unwind_rule expected = pack_rule(address ? cfi.find_rule(*address) : UnwindRule{});
    const ctprof_unwind_rule& rule = table->find_rule(place);
    const bool is_missing_after_limit = expected.kind == CTPROF_UNWIND_NONE && cfi.is_truncated();
    if (rule.kind != CTPROF_UNWIND_UNKNOWN && !is_missing_after_limit &&
        !is_expected_root(file, address, rule, expected) &&
        std::memcmp(&rule, &expected, sizeof rule) != 0)
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ElfFile file(std::string_view(reinterpret_cast<const char*>(data), size));
  file.build_id();
  const Cfi cfi(file);
  if (cfi.steps() > max_reading_steps(size)) std::abort();
  std::vector<FileAddress> addresses;
  for (std::uint64_t offset = 0; offset < 0x4000; offset += 61) {
    const auto address = file.code_address(offset);
    if (!address) continue;
    const std::uint64_t before = cfi.steps();
    if (!is_same_rule(cfi.find_rule(*address), cfi.find_rule(*address))) std::abort();
    if (cfi.steps() - before > 2 * max_rule_steps(size)) std::abort();
    if (addresses.empty() || *address > addresses.back()) addresses.push_back(*address);
  }
  check_names(file, addresses);
  check_table(file, cfi, size);
  return 0;
}
