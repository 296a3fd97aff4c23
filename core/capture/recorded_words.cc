#include "core/capture/recorded_words.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

namespace ctprof {
namespace {

constexpr std::size_t kShownLosses = 3;
constexpr std::array<std::string_view, 3> kLossKinds{"lost", "throttled", "offline"};

std::string with_decimal(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f%s", value, unit);
  return text;
}

// Returns ", 12 lost", or "" for zero.
std::string with_count(std::uint64_t number, std::string_view what) {
  return number == 0 ? "" : ", " + std::to_string(number) + " " + std::string(what);
}

std::uint64_t length_of(const ctprof_loss& loss) { return loss.until_ns - loss.from_ns; }

// Short durations have more digits, so that none is shown as 0.0 ms.
std::string place_of(const ctprof_loss& loss) {
  const double ms = static_cast<double>(length_of(loss)) / 1e6;
  char length[48] = "", text[128];
  if (ms > 0) std::snprintf(length, sizeof length, " for %.*f ms", ms < 1 ? 6 : 1, ms);
  std::snprintf(text, sizeof text, "CPU %u%s at %.3f s", loss.cpu, length,
                static_cast<double>(loss.from_ns) / 1e9);
  return text;
}

// Returns the longest losses.
std::string places(const Recorded& recorded) {
  std::vector<ctprof_loss> losses = recorded.losses;
  std::ranges::stable_sort(losses, std::greater(), length_of);
  std::string text;
  for (std::size_t i = 0; i < std::min(losses.size(), kShownLosses); ++i)
    text += (i == 0 ? " (" : ", ") + std::string(kLossKinds[losses[i].kind]) + " on " +
            place_of(losses[i]);
  if (text.empty()) return text;
  const std::uint64_t more = losses.size() + recorded.losses_left_out;
  return text + (more > kShownLosses ? ", ...)" : ")");
}

// Returns the share of complete stacks, and why the others are incomplete. Rounded down, so that
// 100% never stands for an incomplete set.
std::string whole(const StackTally& tally) {
  if (tally.records == 0) return {};
  if (tally.to_root == tally.records) return ", all to the root";
  const std::uint64_t permille = tally.to_root * 1000 / tally.records;
  const std::string why =
      with_count(tally.cut, "cut by the copy") + with_count(tally.deep, "too deep") +
      with_count(tally.lost, "not unwound") +
      with_count(tally.elsewhere.value_or(0), "that continue on another stack") +
      with_count(tally.without_user, "without user part");
  return ", " + with_decimal(static_cast<double>(permille) / 10, "% to the root") +
         (why.empty() ? "" : " (" + why.substr(2) + ")");
}

// Returns the share of stacks that a BPF program walked in the kernel, rounded down; "" for none.
std::string walked_share(const Recorded& recorded) {
  if (recorded.walked == 0) return {};
  const std::uint64_t permille = recorded.walked * 1000 / (recorded.walked + recorded.copied);
  return with_decimal(static_cast<double>(permille) / 10, "% walked in the kernel");
}

std::string unnamed(const StackTally& tally) {
  return with_count(tally.unnamed, "of " + std::to_string(tally.frames) + " frames unnamed");
}

std::string missing(const Recorded& recorded, const StackTally& tally) {
  return with_count(recorded.lost, "lost") + with_count(recorded.unseen, "not taken") +
         places(recorded) + with_count(recorded.no_room, "dropped for lack of memory") +
         with_count(recorded.changes_lost, "mapping changes dropped for lack of memory") +
         with_count(tally.no_room, "dropped because the stack table was full") +
         with_count(tally.in_no_row, "of threads in no row");
}

}  // namespace

std::string in_words(const Recorded& recorded, const StackTally& tally,
                     const std::string& represented) {
  const auto cpu_ns = static_cast<double>(recorded.cpu_ns + recorded.cpu_elsewhere_ns);
  const auto bytes = static_cast<double>(recorded.records.bytes());
  const std::uint64_t stacks = tally.records > 0 ? tally.records : recorded.taken;
  return recorded.source + ": " + std::to_string(stacks) + (stacks == 1 ? " stack" : " stacks") +
         whole(tally) + (recorded.walked > 0 ? ", " + walked_share(recorded) : "") +
         with_count(tally.guessed, "with guesses") + missing(recorded, tally) +
         (represented.empty() ? "" : ", " + represented) + unnamed(tally) + "; " +
         with_decimal(cpu_ns / 1e6, " ms of CPU time, ") + with_decimal(bytes / (1 << 20), " MiB") +
         (recorded.failed.empty() ? "" : "; then it failed: " + recorded.failed);
}

std::string refused_in_words(const std::vector<Module>& files, std::uint64_t places) {
  return "cannot unwind all stacks: " + in_words(files) +
         ": call frame information exceeds the limits on work at " + std::to_string(places) +
         (places == 1 ? " place" : " places");
}

std::string tables_refused_in_words(const Recorded& recorded) {
  return recorded.source + ": " + std::to_string(recorded.tables_refused) +
         (recorded.tables_refused == 1 ? " request" : " requests") +
         " for unwind tables exceeded the limits of a recorder: stacks through these files are "
         "copied; restart the recorder";
}

std::string cut_maps_in_words(const std::vector<Module>& processes) {
  return "cannot name all generated functions: " + in_words(processes) +
         ": their perf maps or jitdumps are too large; only the newest entries were read";
}

std::string interrupted_in_words() {
  return "interrupted while stacks were unwound and named: some stacks are incomplete, and some "
         "functions have no names; `ctprof symbolize` names more of them";
}

std::string unmapped_in_words(std::uint64_t processes) {
  return "cannot keep the mappings of " + std::to_string(processes) +
         (processes == 1 ? " process" : " processes") +
         ": they have too many; their stacks have no names";
}

std::string changed_in_words(const std::vector<Module>& files) {
  return "cannot name functions of " + in_words(files) +
         ": the file was changed or replaced after a process had mapped it";
}

std::string of_32_bit_in_words(const std::vector<Module>& files) {
  return "cannot unwind or name 32-bit code: " + in_words(files) +
         ": only 64-bit programs are supported; their stacks end at the first frame";
}

std::string left_out_in_words(const std::vector<std::string>& paths, std::size_t unanswered) {
  std::vector<Module> files;
  for (const std::string& path : paths) files.push_back({Module::Kind::File, path, {}, 0});
  return "cannot open files of programs: " + in_words(files) + ": " +
         (unanswered > 0 ? "a file system did not answer"
                         : "copies of files that are not on a local disk exceed the memory limit") +
         "; their stacks are not unwound by them, and have no names";
}

std::vector<std::string> names_in_words(const StackNames& named) {
  std::vector<std::string> notes = inlines_missing_in_words(named);
  if (!named.beyond_limits.empty()) notes.push_back(unnamed_for_limits(named.beyond_limits));
  return notes;
}

}  // namespace ctprof
