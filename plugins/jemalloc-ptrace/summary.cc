#include "plugins/jemalloc-ptrace/summary.hpp"

#include <array>
#include <string>
#include <string_view>

#include "plugins/jemalloc-ptrace/heap_helper.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr auto kFirstFindStatus = static_cast<std::uint32_t>(Tally::FirstFailure);
constexpr auto kFirstStep = kFirstFindStatus + kFindStatusCount;

// A process without jemalloc, or without a readable executable, is normal.
bool is_failure(FindStatus status) {
  return status != FindStatus::Found && status != FindStatus::NotJemalloc &&
         status != FindStatus::ReadlinkFailure;
}

void count_failure_at(const sdk::Batch& batch, std::uint32_t tally_index, Gap gap) {
  batch.tally(tally_index);
  if (gap == Gap::Denied) count_tally(batch, Tally::FailedDenied);
}

struct Failures {
  std::uint64_t total = 0;
  std::uint64_t largest = 0;
  std::string_view dominant;  // of equal ones the first in alphabetical order

  void add(std::string_view word, std::uint64_t count) {
    total += count;
    if (count > largest || (count == largest && count > 0 && word < dominant))
      largest = count, dominant = word;
  }
};

Failures collect_failures(const sdk::Summary& summary) {
  Failures failures;
  for (std::uint32_t i = 0; i < kFindStatusCount; ++i)
    failures.add(find_status_tag(static_cast<FindStatus>(i)), summary.tally(kFirstFindStatus + i));
  for (std::uint32_t i = 0; i < kStepCount; ++i)
    failures.add(find_status_tag(static_cast<ProbeStep>(i)), summary.tally(kFirstStep + i));
  return failures;
}

std::uint64_t tally(const sdk::Summary& summary, Tally which) {
  return summary.tally(static_cast<std::uint32_t>(which));
}

void note_denied(const sdk::Summary& summary, std::uint64_t denied, const std::string& plugin) {
  if (denied == 0) return;
  const char* remedy =
      has_capabilities({CAP_SYS_PTRACE})
          ? " despite CAP_SYS_PTRACE (a security module or the kernel's policy)"
          : "; ctprof needs CAP_SYS_PTRACE for processes of other users, and for your own where "
            "kernel.yama.ptrace_scope is not 0";
  summary.note(plugin + ": looking for jemalloc was denied " + std::to_string(denied) +
               (denied == 1 ? " time" : " times") + remedy);
}

void note_expensive(const sdk::Summary& summary, const std::string& plugin) {
  const std::uint64_t expensive =
      summary.tally(kFirstFindStatus + static_cast<std::uint32_t>(FindStatus::TooCostly));
  if (expensive == 0) return;
  summary.note(plugin + ": reading the files of " + std::to_string(expensive) +
               (expensive == 1 ? " process" : " processes") +
               " would exceed a capture's limit of bytes or time: their heaps are unknown");
}

// Reports processes that use or may use jemalloc and could not be read; denied and expensive ones
// are reported separately.
void note_unreadable(const sdk::Summary& summary, const std::string& plugin) {
  std::uint64_t unreadable = 0;
  std::string list;
  for (const FindStatus status :
       {FindStatus::DwarfParseFailure, FindStatus::DynamicTls, FindStatus::TooMany,
        FindStatus::ArchMismatch, FindStatus::Unreadable}) {
    const std::uint64_t count =
        summary.tally(kFirstFindStatus + static_cast<std::uint32_t>(status));
    if (count == 0) continue;
    unreadable += count;
    list += (list.empty() ? "" : ", ") + std::to_string(count) + ' ' + find_status_tag(status);
  }
  if (unreadable == 0) return;
  summary.note(plugin + ": the allocator of " + std::to_string(unreadable) +
               (unreadable == 1 ? " process" : " processes") + " could not be read (" + list +
               "); `ctprof capture -v` names " + (unreadable == 1 ? "it" : "them"));
}

}  // namespace

void count_tally(const sdk::Batch& batch, Tally tally) {
  batch.tally(static_cast<std::uint32_t>(tally));
}

void count_failure(const sdk::Batch& batch, FindStatus status, Gap gap) {
  if (gap == Gap::Denied) count_tally(batch, Tally::Denied);
  if (is_failure(status))
    count_failure_at(batch, kFirstFindStatus + static_cast<std::uint32_t>(status), gap);
}

void count_failure(const sdk::Batch& batch, ProbeStep step, Gap gap) {
  if (gap == Gap::Denied) count_tally(batch, Tally::Denied);
  count_failure_at(batch, kFirstStep + static_cast<std::uint32_t>(step), gap);
}

void put_probe_summary(const sdk::Summary& summary, const char* plugin, HeapHelper& helper) {
  const Failures failures = collect_failures(summary);
  const std::uint64_t denied = tally(summary, Tally::FailedDenied);
  summary.put("tgids_walked", tally(summary, Tally::Walked));
  summary.put("jemalloc_detected", tally(summary, Tally::Detected));
  summary.put("probed_ok", tally(summary, Tally::ProbedOk));
  summary.put("failed", failures.total);
  failures.total == 0 ? summary.put_null("dominant_failure")
                      : summary.put("dominant_failure", failures.dominant);
  summary.put("privilege_dominant", denied > 0 && denied * 2 >= failures.total);
  summary.put("denied", tally(summary, Tally::Denied));
  note_denied(summary, tally(summary, Tally::Denied), plugin);
  note_expensive(summary, plugin);
  note_unreadable(summary, plugin);
  for (const std::string& sentence : helper.finish_capture())
    summary.note(std::string(plugin) + ": " + sentence);
}

}  // namespace ctprof::jemalloc
