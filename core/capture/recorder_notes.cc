#include "core/capture/recorder_notes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxShownLosses = 3;
constexpr std::array<std::string_view, 3> kLossKinds{"lost", "throttled", "offline"};

// Returns ", 12 lost", or "" for zero.
std::string format_nonzero_count(std::uint64_t number, std::string_view noun) {
  return number == 0 ? "" : ", " + std::to_string(number) + " " + std::string(noun);
}

std::uint64_t duration_ns(const ctprof_loss& loss) { return loss.until_ns - loss.from_ns; }

// Short durations have more digits, because 0.0 ms would look like no loss.
std::string describe_loss(const ctprof_loss& loss) {
  const double ms = static_cast<double>(duration_ns(loss)) / 1e6;
  char length[48] = "", text[128];
  if (ms > 0) std::snprintf(length, sizeof length, " for %.*f ms", ms < 1 ? 6 : 1, ms);
  std::snprintf(text, sizeof text, "CPU %u%s at %.3f s", loss.cpu, length,
                static_cast<double>(loss.from_ns) / 1e9);
  return text;
}

// Returns the longest losses.
std::string describe_longest_losses(const RecorderResult& recorded) {
  std::vector<ctprof_loss> losses = recorded.losses;
  std::ranges::stable_sort(losses, std::greater(), duration_ns);
  std::string text;
  for (std::size_t i = 0; i < std::min(losses.size(), kMaxShownLosses); ++i)
    text += (i == 0 ? " (" : ", ") + std::string(kLossKinds[losses[i].kind]) + " on " +
            describe_loss(losses[i]);
  if (text.empty()) return text;
  const std::uint64_t loss_count = losses.size() + recorded.omitted_losses;
  return text + (loss_count > kMaxShownLosses ? ", ...)" : ")");
}

// Returns the share of complete stacks, and why the others are incomplete. Rounded down, so that an
// incomplete set is never shown as 100%.
std::string describe_complete_stacks(const StackTally& tally) {
  if (tally.records == 0) return {};
  if (tally.complete_stacks == tally.records) return ", all reach the root";
  const std::uint64_t permille = tally.complete_stacks * 1000 / tally.records;
  const std::string reasons =
      format_nonzero_count(tally.stacks_beyond_copy, "longer than the copied part") +
      format_nonzero_count(tally.too_deep_stacks, "too deep") +
      format_nonzero_count(tally.stacks_without_rule, "not unwound") +
      format_nonzero_count(tally.stacks_on_other_stack.value_or(0),
                           "that continue on another stack") +
      format_nonzero_count(tally.without_user, "without user part");
  return ", " + format_fixed(static_cast<double>(permille) / 10, 1) + "% reach the root" +
         (reasons.empty() ? "" : " (" + reasons.substr(2) + ")");
}

// Returns the share of stacks that a BPF program walked in the kernel, rounded down; "" for none.
std::string describe_walked_share(const RecorderResult& recorded) {
  if (recorded.walked_stacks == 0) return {};
  const std::uint64_t permille =
      recorded.walked_stacks * 1000 / (recorded.walked_stacks + recorded.copied_stacks);
  return format_fixed(static_cast<double>(permille) / 10, 1) + "% unwound in the kernel";
}

std::string describe_unnamed_frames(const StackTally& tally) {
  return format_nonzero_count(tally.unnamed_frames,
                              "of " + std::to_string(tally.frames) + " frames unnamed");
}

std::string describe_missing_records(const RecorderResult& recorded, const StackTally& tally) {
  return format_nonzero_count(recorded.lost, "lost") +
         format_nonzero_count(recorded.missed, "missed") + describe_longest_losses(recorded) +
         format_nonzero_count(recorded.dropped_for_memory, "dropped for lack of memory") +
         format_nonzero_count(recorded.lost_changes, "mapping changes dropped for lack of memory") +
         format_nonzero_count(tally.stacks_beyond_limit,
                              "dropped because the stack table was full") +
         format_nonzero_count(tally.records_without_row, "of threads without a row");
}

std::string describe_files(const std::vector<std::string>& paths) {
  std::vector<Module> files;
  for (const std::string& path : paths) files.push_back({Module::Kind::File, path, {}, 0});
  return describe_modules(files);
}

}  // namespace

std::string describe_recorder(const RecorderResult& recorded, const StackTally& tally,
                              const std::string& coverage_text) {
  const auto cpu_ns = static_cast<double>(recorded.cpu_ns + recorded.other_cpu_ns);
  const auto bytes = static_cast<double>(recorded.records.bytes());
  const std::uint64_t stacks = tally.records > 0 ? tally.records : recorded.stack_records;
  return recorded.source + ": " + format_count(stacks, "stack") + describe_complete_stacks(tally) +
         (recorded.walked_stacks > 0 ? ", " + describe_walked_share(recorded) : "") +
         format_nonzero_count(tally.guessed_stacks, "with guessed frames") +
         describe_missing_records(recorded, tally) +
         (coverage_text.empty() ? "" : ", " + coverage_text) + describe_unnamed_frames(tally) +
         "; " + format_fixed(cpu_ns / 1e6, 1) + " ms of CPU time, " +
         format_fixed(bytes / (1 << 20), 1) + " MiB" +
         (recorded.failure.empty() ? "" : "; then it failed: " + recorded.failure);
}

std::string describe_unwind_limits(const std::vector<Module>& files, std::uint64_t refused_rules) {
  return "cannot unwind all stacks in " + describe_modules(files) +
         ": call frame information exceeds the work limit of one run at " +
         format_count(refused_rules, "place");
}

std::string describe_refused_tables(const RecorderResult& recorded) {
  return recorded.source + ": " + format_count(recorded.refused_tables, "request") +
         " for unwind tables exceeded the limits of the recorder: stacks through the files of "
         "these tables are copied; restart the recorder";
}

std::string describe_unpackable_files(const RecorderResult& recorded) {
  return recorded.source + ": stacks through " + describe_files(recorded.unpackable_files) +
         " are copied: the file has too many unwind rules for a table, or rules that contradict "
         "each other";
}

std::string describe_truncated_maps(const std::vector<Module>& processes) {
  return "cannot name all generated functions: " + describe_modules(processes) +
         ": their perf maps or jitdumps are too large; only the newest entries were read";
}

std::string describe_interruption() {
  return "interrupted while stacks were unwound and named: some stacks are incomplete, and some "
         "functions have no names; `ctprof symbolize` names more of them";
}

std::string describe_unmapped_processes(std::uint64_t processes) {
  return "cannot keep the mappings of " + format_count(processes, "process") +
         ": they have too many; their stacks have no names";
}

std::string describe_changed_files(const std::vector<Module>& files) {
  return "cannot name functions of " + describe_modules(files) +
         ": the file was changed or replaced after a process had mapped it";
}

std::string describe_32_bit_files(const std::vector<Module>& files) {
  return "cannot unwind or name 32-bit code: " + describe_modules(files) +
         ": only 64-bit programs are supported; their stacks end at the first frame";
}

std::string describe_unopened_files(const std::vector<std::string>& paths, std::size_t timeouts) {
  return "cannot open files of programs: " + describe_files(paths) + ": " +
         (timeouts > 0 ? "a file system did not answer"
                       : "copies of files that are not on a local disk exceed the memory limit") +
         "; stacks are not unwound with these files, and their functions have no names";
}

std::vector<std::string> describe_name_limits(const NamingResult& names) {
  std::vector<std::string> notes = missing_inlines_messages(names);
  if (!names.beyond_limits.empty()) notes.push_back(naming_limit_message(names.beyond_limits));
  return notes;
}

}  // namespace ctprof
