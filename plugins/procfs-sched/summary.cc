#include "plugins/procfs-sched/summary.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "plugins/shared/kernel.hpp"

namespace ctprof::procfs {
namespace {

// In the order of Tally, which is alphabetical.
constexpr std::array kFiles{"io", "sched", "schedstat", "smaps_rollup", "stat", "status"};

std::uint64_t tally_count(const sdk::Summary& summary, Tally tally) {
  return summary.tally(static_cast<std::uint32_t>(tally));
}

struct Failures {
  std::array<std::uint64_t, kFiles.size()> by_file{};
  std::uint64_t total = 0;
};

Failures collect_failures(const sdk::Summary& summary) {
  Failures failures;
  for (std::uint32_t i = 0; i < kFiles.size(); ++i) {
    failures.by_file[i] = summary.tally(i);
    failures.total += failures.by_file[i];
  }
  return failures;
}

void put_dominant(const sdk::Summary& summary, const Failures& failures) {
  const auto largest = std::max_element(failures.by_file.begin(),
                                        failures.by_file.end());  // the first of equal ones
  if (*largest == 0) return summary.put_null("dominant_read_failure");
  summary.put(
      "dominant_read_failure",
      std::string_view(kFiles[static_cast<std::size_t>(largest - failures.by_file.begin())]));
}

void note_denied(const sdk::Summary& summary, std::uint64_t denied) {
  if (denied == 0) return;
  const char* remedy =
      has_capabilities({CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH})
          ? " despite CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH (a security module or the kernel's "
            "policy)"
          : "; io and smaps_rollup of other users' processes need the capabilities CAP_SYS_PTRACE "
            "and CAP_DAC_READ_SEARCH";
  summary.note("procfs-sched: " + std::to_string(denied) +
               (denied == 1 ? " read was denied" : " reads were denied") + remedy);
}

}  // namespace

void count_failure(const sdk::Batch& batch, Tally file, Gap gap) {
  const auto add = [&](Tally tally) { batch.tally(static_cast<std::uint32_t>(tally)); };
  const bool depends_on_configuration = file == Tally::Schedstat || file == Tally::Io;
  add(file);
  if (gap == Gap::Denied) add(Tally::Denied);
  if (gap == Gap::Unsupported && depends_on_configuration) add(Tally::Configuration);
}

void put_parse_summary(const sdk::Summary& summary) {
  const Failures failures = collect_failures(summary);
  const std::uint64_t configuration = tally_count(summary, Tally::Configuration);
  summary.put("tids_walked", summary.rows_listed());
  summary.put("read_failures", failures.total);
  summary.put_null("read_failures_by_file.");  // an object even when it is empty
  for (std::size_t i = 0; i < kFiles.size(); ++i)
    if (failures.by_file[i] > 0)
      summary.put((std::string("read_failures_by_file.") + kFiles[i]).c_str(), failures.by_file[i]);
  put_dominant(summary, failures);
  summary.put("kernel_config_dominant", configuration > 0 && configuration * 2 >= failures.total);
  summary.put("negative_dotted_values", tally_count(summary, Tally::NegativeDotted));
  summary.put("read_failures_denied", tally_count(summary, Tally::Denied));
  note_denied(summary, tally_count(summary, Tally::Denied));
}

}  // namespace ctprof::procfs
