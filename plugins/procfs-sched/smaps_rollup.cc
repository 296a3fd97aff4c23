#include "plugins/procfs-sched/smaps_rollup.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "ctprof/other_threads.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/summary.hpp"

namespace ctprof::procfs {
namespace {

// Returns false if the line should be a size but is malformed. A line of another kind adds nothing.
bool parse_line(std::string_view line, std::vector<ctprof_entry>& entries) {
  const std::string_view key = sdk::take(line, ':');
  const bool is_header = key.find_first_of(" -") != key.npos;
  std::string_view value = sdk::bare(line);
  if (is_header || !value.ends_with(" kB")) return !key.empty();
  const auto kib = sdk::number<std::uint64_t>(sdk::bare(value.substr(0, value.size() - 3)));
  if (!kib || key.empty()) return false;
  entries.push_back({{key.data(), key.size()}, kib.value});
  return true;
}

// Returns the directories of other threads, which may still have the memory if the main thread has
// none.
std::vector<std::string> directories_of_other_threads(int proc, std::uint64_t tgid) {
  std::vector<std::string> directories;
  for (const std::uint64_t tid : sdk::other_threads(proc, tgid))
    directories.push_back(std::to_string(tgid) + "/task/" + std::to_string(tid));
  return directories;
}

}  // namespace

bool parse_smaps_rollup(std::string_view text, std::vector<ctprof_entry>& entries) {
  entries.clear();
  while (!text.empty())
    if (!parse_line(sdk::take(text, '\n'), entries)) return false;
  return !entries.empty();
}

sdk::Reading<sdk::Entries> SmapsRollup::read_process(std::uint64_t tgid) {
  const std::string process = std::to_string(tgid);
  auto text = read(process, "smaps_rollup");
  if (!text && text.gap != Gap::Denied)
    for (const std::string& thread : directories_of_other_threads(host_.proc(), tgid))
      if ((text = read(thread, "smaps_rollup"))) break;
  if (!text) return gap_of_missing_file(process, text.gap);
  if (!parse_smaps_rollup(text.value, entries_)) return Gap::Malformed;
  return sdk::Entries(entries_);
}

sdk::Reading<std::string_view> SmapsRollup::read(const std::string& directory, const char* name) {
  return file_.read(host_.proc(), (directory + '/' + name).c_str());
}

Gap SmapsRollup::gap_of_missing_file(const std::string& process, Gap gap) {
  if (gap == Gap::Denied) return gap;
  const auto stat = read(process, "stat");
  if (!stat) return stat.gap;
  return has_no_memory(parse_stat(stat.value)) ? Gap::NotApplicable
                                               : procfs::gap_of_missing_file(host_, gap);
}

sdk::ReadingOf<sdk::GaugeBytes> parse_statm(std::string_view text, std::uint64_t page_size) {
  const auto size = sdk::number<std::uint64_t>(sdk::take(text, ' '));
  const auto resident = sdk::number<std::uint64_t>(sdk::take(text, ' '));
  if (!size || !resident || resident.value > UINT64_MAX / page_size) return Gap::Malformed;
  if (size.value == 0) return Gap::NotApplicable;
  return resident.value * page_size;
}

ResidentMemory::ResidentMemory(const sdk::Host& host)
    : host_(host), page_size_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

sdk::ReadingOf<sdk::GaugeBytes> ResidentMemory::read_process(std::uint64_t tgid) {
  const auto resident = read(std::to_string(tgid));
  if (resident.gap != Gap::NotApplicable) return resident;
  for (const std::string& thread : directories_of_other_threads(host_.proc(), tgid))
    if (const auto of_thread = read(thread)) return of_thread;
  return resident;
}

sdk::ReadingOf<sdk::GaugeBytes> ResidentMemory::read(const std::string& directory) {
  const auto text = file_.read(host_.proc(), (directory + "/statm").c_str());
  if (text) return parse_statm(text.value, page_size_);
  return gap_of_missing_file(host_, text.gap);
}

}  // namespace ctprof::procfs
