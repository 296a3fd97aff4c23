#include "plugins/procfs-sched/smaps_rollup.hpp"

#include <unistd.h>

#include <cstdio>

#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/summary.hpp"

namespace ctprof::procfs {
namespace {

// False when the line should be a size but is not. A line of another kind adds nothing.
bool parse_line(std::string_view line, std::vector<ctprof_entry>& entries) {
  const std::string_view key = sdk::take(line, ':');
  const bool header = key.find_first_of(" -") != key.npos;
  std::string_view value = sdk::bare(line);
  if (header || !value.ends_with(" kB")) return !key.empty();
  const auto kib = sdk::number<std::uint64_t>(sdk::bare(value.substr(0, value.size() - 3)));
  if (!kib || key.empty()) return false;
  entries.push_back({{key.data(), key.size()}, kib.value});
  return true;
}

}  // namespace

bool parse_smaps_rollup(std::string_view text, std::vector<ctprof_entry>& entries) {
  entries.clear();
  while (!text.empty())
    if (!parse_line(sdk::take(text, '\n'), entries)) return false;
  return !entries.empty();
}

sdk::Reading<sdk::Entries> SmapsRollup::of_process(std::uint64_t tgid) {
  const auto text = read(tgid, "smaps_rollup");
  if (!text) return why_missing(tgid, text.gap);
  if (!parse_smaps_rollup(text.value, entries_)) return Gap::Malformed;
  return sdk::Entries(entries_);
}

sdk::Reading<std::string_view> SmapsRollup::read(std::uint64_t tgid, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "%llu/%s", static_cast<unsigned long long>(tgid), name);
  return file_.read(host_.proc(), path);
}

Gap SmapsRollup::why_missing(std::uint64_t tgid, Gap gap) {
  if (gap == Gap::Denied) return gap;
  const auto stat = read(tgid, "stat");
  if (!stat) return stat.gap;
  return has_no_memory(parse_stat(stat.value)) ? Gap::NotApplicable : gap_of_missing(host_, gap);
}

sdk::ReadingOf<sdk::GaugeBytes> parse_statm(std::string_view text, std::uint64_t page) {
  const auto size = sdk::number<std::uint64_t>(sdk::take(text, ' '));
  const auto resident = sdk::number<std::uint64_t>(sdk::take(text, ' '));
  if (!size || !resident || resident.value > UINT64_MAX / page) return Gap::Malformed;
  if (size.value == 0) return Gap::NotApplicable;
  return resident.value * page;
}

Resident::Resident(const sdk::Host& host)
    : host_(host), page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

sdk::ReadingOf<sdk::GaugeBytes> Resident::of_process(std::uint64_t tgid) {
  char path[64];
  std::snprintf(path, sizeof path, "%llu/statm", static_cast<unsigned long long>(tgid));
  const auto text = file_.read(host_.proc(), path);
  if (text) return parse_statm(text.value, page_);
  return gap_of_missing(host_, text.gap);
}

}  // namespace ctprof::procfs
