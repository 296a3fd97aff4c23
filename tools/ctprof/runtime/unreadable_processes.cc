#include "tools/ctprof/runtime/unreadable_processes.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "core/registry/identity.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kMaxListedProcesses = 50;  // in a sentence

bool is_failure(Gap gap) {
  return gap == Gap::Denied || gap == Gap::Unsupported || gap == Gap::Malformed ||
         gap == Gap::Busy || gap == Gap::SourceFailed;
}

// The rows of a process, which are consecutive in the column of process ids.
struct Process {
  std::size_t first;
  std::size_t last;
};

std::vector<Process> processes_of(std::span<const std::uint64_t> tgids) {
  std::vector<Process> processes;
  for (std::size_t first = 0, last = 0; first < tgids.size(); first = last) {
    while (last < tgids.size() && tgids[last] == tgids[first]) ++last;
    processes.push_back({first, last});
  }
  return processes;
}

// Returns the first failure among the threads of the process. Returns None if a thread has a value
// or no cell has a failure.
Gap find_failure(const Column& column, const Process& process) {
  Gap failure = Gap::None;
  for (std::size_t row = process.first; row < process.last; ++row) {
    if (column.has_value(row)) return Gap::None;
    if (failure == Gap::None && is_failure(column.gap(row))) failure = column.gap(row);
  }
  return failure;
}

// Identifies metrics of the same plugin that failed in the same way for the same processes; they
// share a sentence.
struct Failure {
  std::string plugin;
  Gap gap;
  std::vector<std::size_t> processes;
  auto operator<=>(const Failure&) const = default;
};
using Failures = std::map<Failure, std::vector<std::string>>;  // to metric names

void add_failures(const Column& column, const std::vector<Process>& processes, Failures& failures) {
  std::map<Gap, std::vector<std::size_t>> processes_by_gap;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (const Gap gap = find_failure(column, processes[i]); gap != Gap::None)
      processes_by_gap[gap].push_back(i);
  for (auto& [gap, scope] : processes_by_gap)
    failures[{column.provenance.plugin, gap, std::move(scope)}].push_back(column.def().name);
}

std::string others_suffix(std::size_t count, std::string_view noun) {
  if (count == 0) return {};
  return " and " + std::to_string(count) + " " +
         inflect(static_cast<double>(count), "other" + std::string(noun));
}

// "redis[812], envoy[99] and 3 others"
template <class Name>
std::string list_processes(const std::vector<std::size_t>& processes, Name name) {
  std::string text;
  const std::size_t shown = std::min(processes.size(), kMaxListedProcesses);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + name(processes[i]);
  return text + others_suffix(processes.size() - shown, "");
}

}  // namespace

std::vector<std::string> describe_unreadable_processes(const Snapshot& snapshot) {
  const Table& threads = snapshot.threads();
  const auto tgids = threads.find(kTgid)->u64();
  const Column& names = *threads.find(kPcomm);
  const auto processes = processes_of(tgids);
  Failures failures;
  for (const Column& column : threads.columns)
    if (!column.provenance.plugin.empty()) add_failures(column, processes, failures);

  const auto name_of = [&](std::size_t process) {
    const std::size_t row = processes[process].first;
    const std::string_view text =
        names.has_value(row) ? snapshot.pools->texts[names.ids()[row]] : std::string_view{};
    return make_printable(text) + '[' + std::to_string(tgids[row]) + ']';
  };
  std::vector<std::string> sentences;
  for (const auto& [failure, metrics] : failures)
    sentences.push_back(failure.plugin + ": " + metrics.front() +
                        others_suffix(metrics.size() - 1, " metric") + ": " +
                        std::string(name(failure.gap)) + " for " +
                        list_processes(failure.processes, name_of));
  return sentences;
}

std::string describe_omitted_metrics(const Meta& meta) {
  if (meta.uncaptured_metrics.empty()) return {};
  return "; without " + format_count(meta.uncaptured_metrics.size(), "expensive metric") +
         " (--level full)";
}

}  // namespace ctprof::cli
