#include "core/capture/capture.hpp"

#include <utility>
#include <variant>

#include "core/capture/descriptors.hpp"
#include "core/capture/host_pass.hpp"
#include "core/registry/process_state.hpp"

namespace ctprof {
namespace {

// Whether each process is there, and is a process and not one thread of another.
Result<void> check_pids(const Roots& roots, const std::vector<std::uint64_t>& pids) {
  sdk::TextFile file;
  for (const std::uint64_t pid : pids) {
    const std::string number = std::to_string(pid);
    const auto status = file.read(roots.proc_fd.get(), (number + "/status").c_str());
    if (!status) return errno_error("looking for process", number, file.last_errno());
    const auto tgid = sdk::value_of(status.value, "Tgid");
    if (tgid && tgid.value != number)
      return error("looking for process", number,
                   "it is a thread of process " + std::string(tgid.value));
  }
  return {};
}

}  // namespace

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
  GapCounts counts{};
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) count_gaps(column.gaps(), counts);
  CellTally tally{.values = counts[CTPROF_VALUE], .gaps = counts};
  tally.gaps[CTPROF_VALUE] = 0;
  return tally;
}

Result<Session> Session::open(const Registry& registry, CaptureOptions options) {
  auto roots = open_roots(options.rootfs);
  if (!roots) return roots.error();
  if (auto there = check_pids(*roots, options.pids); !there) return there.error();
  Session session(registry, std::move(options), std::move(*roots));
  if (auto enough = check_descriptors(kDescriptorsAfterProbing); !enough) return enough.error();
  return session;
}

Session::Session(const Registry& registry, CaptureOptions options, Roots roots)
    : options_(std::move(options)),
      roots_(std::make_unique<Roots>(std::move(roots))),
      probed_(registry, roots_->host()) {}

Result<void> Session::begin() {
  const KeptProcessState kept;
  Lost lost;
  std::vector<SourceCost> costs;
  for (;;) {
    const auto plan = make_plan(probed_, options_.metrics, lost);
    if (!plan) return plan.error();
    refused_ = probed_.thrown();
    refused_.insert(refused_.end(), plan->refused.begin(), plan->refused.end());
    auto outcome = HostPass(probed_, *roots_, *plan, options_).run();
    if (!outcome) return outcome.error();
    if (auto* snapshot = std::get_if<Snapshot>(&*outcome)) {
      snapshot->meta.sources.insert(snapshot->meta.sources.begin(), costs.begin(), costs.end());
      read_ = std::move(*snapshot);
      return {};
    }
    const auto& [source, cost] = std::get<FailedLister>(*outcome);
    lost[source] = cost.failed;
    costs.push_back(cost);
  }
}

Result<void> Session::drain() { return {}; }

Result<Snapshot> Session::end() { return *std::exchange(read_, std::nullopt); }

}  // namespace ctprof
