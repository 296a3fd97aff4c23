#include "plugins/procfs-sched/schedstat.hpp"

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"

namespace ctprof::procfs {

Schedstat parse_schedstat(std::string_view text) {
  std::string_view line = sdk::take(text, '\n');
  Schedstat schedstat;
  schedstat.run_time_ns = u64(sdk::take(line, ' '));
  schedstat.wait_time_ns = u64(sdk::take(line, ' '));
  schedstat.timeslices = u64(sdk::take(line, ' '));
  return schedstat;
}

void SchedstatFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Schedstat schedstat = parse_schedstat(text);
  put(thread.row, schedstat.run_time_ns, schedstat.wait_time_ns, schedstat.timeslices);
}

}  // namespace ctprof::procfs
