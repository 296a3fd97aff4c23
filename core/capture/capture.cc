#include "core/capture/capture.hpp"

#include <utility>

namespace ctprof {

Result<Snapshot> capture(const Registry& registry, const CaptureOptions& options,
                         std::vector<Refusal>* refused) {
  auto session = Session::open(registry, options);
  if (!session) return session.error();
  if (auto begun = session->begin(); !begun) return begun.error();
  if (refused) *refused = session->refused();
  return session->end();
}

Result<Snapshot> capture_pid(const Registry& registry, std::uint64_t pid, CaptureOptions options) {
  options.pids = {pid};
  return capture(registry, options);
}

Result<Written> capture_to(const Registry& registry, const std::string& path,
                           const CaptureOptions& options) {
  const auto place = check_output(path);
  if (!place) return place.error();
  const auto snapshot = capture(registry, options);
  if (!snapshot) return snapshot.error();
  return write_file(*snapshot, registry.vocabulary(), *place);
}

CellTally tally(const Snapshot& snapshot) {
  CellTally tally;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns)
      for (const ctprof_gap gap : column.gaps())
        gap == CTPROF_VALUE ? ++tally.values : ++tally.gaps[gap];
  return tally;
}

}  // namespace ctprof
