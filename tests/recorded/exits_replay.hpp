// Replays a trace of exited threads through a plugin's source and the core.
//
//   ReceivedExits exits =
//       replay_exits<task_iter::ExitedThreads, task_iter_trace::ReplayedInput, Figures>(trace);
//   exits.value(row, "run_time_ns");
//
// The source is the plugin's, with the trace as its input. The core plans it, drains it at the
// recorded times, and keeps its rows.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/capture/exit_tracker.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/plugin.hpp"
#include "core/registry/probed_host.hpp"
#include "core/registry/registry.hpp"
#include "ctprof/plugin.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded {

// The plugin's source. The core creates it without custom arguments, so the trace is static.
template <class Source, class Input>
class ReplayedSource : public Source {
 public:
  static inline const Trace* trace = nullptr;
  static inline Cursor* cursor = nullptr;

  static void probe(const sdk::Host&, const sdk::Probe&) {}
  explicit ReplayedSource(const sdk::Host& host)
      : Source(host, std::make_unique<Input>(*trace, *cursor)) {}
};

// A source of living threads with the metrics of `Figures`. The core keeps only those metrics of
// exited threads that living threads have, too.
template <class Figures>
struct LivingSource : sdk::ThreadSource {
  static constexpr auto kOffers = Figures::kOffers;
  explicit LivingSource(const sdk::Host&) {}
  void collect(const sdk::Batch&) {}
};

// The rows that the core received.
class ReceivedExits {
 public:
  explicit ReceivedExits(ExitedThreads&& ended) : ended(std::move(ended)) {}

  std::size_t rows() const { return ended.rows.threads().rows; }
  bool has(std::size_t row, std::string_view metric) const { return column(metric).has_value(row); }
  Gap gap(std::size_t row, std::string_view metric) const {
    return static_cast<Gap>(column(metric).gap(row));
  }
  std::uint64_t value(std::size_t row, std::string_view metric) const {
    const Column& found_column = column(metric);
    if (!found_column.has_value(row))
      throw std::runtime_error("no value of " + std::string(metric));
    switch (found_column.def().storage) {
      case Storage::U64: return found_column.u64()[row];
      case Storage::I64: return static_cast<std::uint64_t>(found_column.i64()[row]);
      default: return found_column.bools()[row];
    }
  }
  std::string text(std::size_t row, std::string_view metric) const {
    const Column& found_column = column(metric);
    if (!found_column.has_value(row))
      throw std::runtime_error("no value of " + std::string(metric));
    return std::string(ended.rows.pools->texts[found_column.ids()[row]]);
  }

  ExitedThreads ended;

 private:
  const Column& column(std::string_view metric) const {
    const Column* found = ended.rows.threads().find(metric);
    if (found == nullptr) throw std::runtime_error("no column " + std::string(metric));
    return *found;
  }
};

template <class... Sources>
Plugin make_replayed_plugin() {
  const auto sources = sdk::SourceList<Sources...>::make("replayed");
  const ctprof_plugin table = sdk::make_plugin("replayed", "1", "", sources);
  Plugin made = read_plugin(table, sizeof table).value();
  made.path = "replayed.so";
  made.is_shipped = true;
  return made;
}

// Throws BadTrace if the source makes other calls than the recorded ones. `pids`, `inherits`: see
// core/capture/exit_tracker.hpp.
template <class Source, class Input, class Figures>
ReceivedExits replay_exits(const Trace& trace, const std::vector<std::uint64_t>& pids = {},
                           bool inherits = false) {
  using Replay = ReplayedSource<Source, Input>;
  Cursor cursor(trace);
  Replay::trace = &trace;
  Replay::cursor = &cursor;
  const TestHost host(std::string(std::getenv("HOST")) + "/proc",
                      std::string(std::getenv("HOST")) + "/sys");
  const Registry registry(
      LoadedPlugins{{make_replayed_plugin<LivingSource<Figures>, Replay>()}, {}});
  const ProbedHost probed(registry, host.abi(), RecorderSelection::ExitedThreads);
  const Plan plan = make_plan(probed, std::nullopt).value();
  ExitTracker ends(plan, probed, pids, "", 0, inherits);
  std::vector<SourceCost> costs;
  const Snapshot before;
  bool is_stopped = false;
  while (!cursor.is_at_end()) {
    switch (cursor.next().kind) {
      case kFirstOfPlugin: ends.start(); break;           // kStart
      case kFirstOfPlugin + 2: is_stopped = true; break;  // kStop: the core drains by itself
      case kFirstOfPlugin + 1:                            // kDrain
        is_stopped ? ends.stop() : ends.drain();
        break;
      case kOutput: break;
      default: throw BadTrace("the source did not read all records");
    }
  }
  ReceivedExits exits(std::move(ends.collect(before, costs)));
  if (!costs.front().failed.empty()) throw std::runtime_error(costs.front().failed);
  return exits;
}

}  // namespace ctprof::recorded
