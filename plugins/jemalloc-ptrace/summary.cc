#include "plugins/jemalloc-ptrace/summary.hpp"

#include <array>
#include <string>
#include <string_view>

#include "plugins/jemalloc-ptrace/heap_helper.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr auto kFirstAttach = static_cast<std::uint32_t>(Tally::FirstFailure);
constexpr auto kFirstStep = kFirstAttach + kAttaches;

// A process without jemalloc, or without a readable executable, is normal.
bool is_failure(Attach attach) {
  return attach != Attach::Found && attach != Attach::NotJemalloc &&
         attach != Attach::ReadlinkFailure;
}

void count_failure_at(const sdk::Batch& batch, std::uint32_t which, Gap gap) {
  batch.tally(which);
  if (gap == Gap::Denied) count(batch, Tally::FailedDenied);
}

struct Failures {
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  std::string_view dominant;  // of equal ones the first in alphabetical order

  void add(std::string_view word, std::uint64_t count) {
    all += count;
    if (count > most || (count == most && count > 0 && word < dominant))
      most = count, dominant = word;
  }
};

Failures failures_of(const sdk::Summary& summary) {
  Failures failures;
  for (std::uint32_t i = 0; i < kAttaches; ++i)
    failures.add(tag(static_cast<Attach>(i)), summary.tally(kFirstAttach + i));
  for (std::uint32_t i = 0; i < kSteps; ++i)
    failures.add(tag(static_cast<ProbeStep>(i)), summary.tally(kFirstStep + i));
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
          : "; other users' processes need the capability CAP_SYS_PTRACE, one's own too where "
            "kernel.yama.ptrace_scope is not 0";
  summary.note(plugin + ": looking for jemalloc was denied " + std::to_string(denied) +
               (denied == 1 ? " time" : " times") + remedy);
}

void note_costly(const sdk::Summary& summary, const std::string& plugin) {
  const std::uint64_t costly =
      summary.tally(kFirstAttach + static_cast<std::uint32_t>(Attach::TooCostly));
  if (costly == 0) return;
  summary.note(plugin + ": reading the files of " + std::to_string(costly) +
               (costly == 1 ? " process" : " processes") +
               " would have cost more bytes or time than a capture spends on them: their heaps are "
               "unknown");
}

// Reports processes that use or may use jemalloc and could not be read; denied and expensive ones
// are reported separately.
void note_unread(const sdk::Summary& summary, const std::string& plugin) {
  std::uint64_t unread = 0;
  std::string words;
  for (const Attach attach : {Attach::DwarfParseFailure, Attach::DynamicTls, Attach::TooMany,
                              Attach::ArchMismatch, Attach::Unreadable}) {
    const std::uint64_t count = summary.tally(kFirstAttach + static_cast<std::uint32_t>(attach));
    if (count == 0) continue;
    unread += count;
    words += (words.empty() ? "" : ", ") + std::to_string(count) + ' ' + tag(attach);
  }
  if (unread == 0) return;
  summary.note(plugin + ": the allocator of " + std::to_string(unread) +
               (unread == 1 ? " process" : " processes") + " could not be read (" + words +
               "); `ctprof capture -v` names " + (unread == 1 ? "it" : "them"));
}

}  // namespace

void count(const sdk::Batch& batch, Tally tally) { batch.tally(static_cast<std::uint32_t>(tally)); }

void count_failure(const sdk::Batch& batch, Attach attach, Gap gap) {
  if (gap == Gap::Denied) count(batch, Tally::Denied);
  if (is_failure(attach))
    count_failure_at(batch, kFirstAttach + static_cast<std::uint32_t>(attach), gap);
}

void count_failure(const sdk::Batch& batch, ProbeStep step, Gap gap) {
  if (gap == Gap::Denied) count(batch, Tally::Denied);
  count_failure_at(batch, kFirstStep + static_cast<std::uint32_t>(step), gap);
}

void put_probe_summary(const sdk::Summary& summary, const char* plugin, HeapHelper& helper) {
  const Failures failures = failures_of(summary);
  const std::uint64_t denied = tally(summary, Tally::FailedDenied);
  summary.put("tgids_walked", tally(summary, Tally::Walked));
  summary.put("jemalloc_detected", tally(summary, Tally::Detected));
  summary.put("probed_ok", tally(summary, Tally::ProbedOk));
  summary.put("failed", failures.all);
  failures.all == 0 ? summary.put_null("dominant_failure")
                    : summary.put("dominant_failure", failures.dominant);
  summary.put("privilege_dominant", denied > 0 && denied * 2 >= failures.all);
  summary.put("denied", tally(summary, Tally::Denied));
  note_denied(summary, tally(summary, Tally::Denied), plugin);
  note_costly(summary, plugin);
  note_unread(summary, plugin);
  for (const std::string& trouble : helper.finish())
    summary.note(std::string(plugin) + ": " + trouble);
}

}  // namespace ctprof::jemalloc
