// Records windows with off-cpu in the simulated kernel: the scheduler events of a trace drive the
// BPF programs and the plugin.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/off-cpu/waits.hpp"
#include "tests/recorded/off_cpu_simulated.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/sched_timeline.hpp"
#include "tests/recorded/sched_trace.hpp"

namespace ctprof::recorded {

inline constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;

struct Window {
  std::uint64_t opened = 0, ended = 0;
  std::unique_ptr<ReceivedData> received = std::make_unique<ReceivedData>();
};

// The events of a trace: as recorded, or completed by those that programs could not see.
enum class Events { All, Recorded };

// Whether consecutive windows share an edge, or each has its own edges, as in ctprof.
enum class Edges { Shared, Separate };

// Records this many windows of random lengths over all events, with drains inside each window.
class Recording {
 public:
  Recording(const Trace& trace, kernel_settings settings, unsigned number_of_windows,
            Events selection = Events::All, Edges edges = Edges::Shared)
      : edges_(edges), lengths_(settings.seed + 7) {
    events = sched_trace::events_of(trace);
    if (selection == Events::All) repaired_ = with_unseen_events(events);
    if (selection == Events::All) events.clear();
    for (const sched_event& event : repaired_) events.push_back(&event);
    const TestHost host(std::getenv("TRACES"));
    auto input = std::make_unique<SimulatedInput>(events, settings);
    SimulatedInput& kernel = *input;
    const off_cpu::Setup setup{.pids = {trace.number("pid")},
                               .period_ns = settings.period_ns,
                               .records_every_stack = settings.every_stack != 0,
                               .charges_all_waits = settings.all_waits != 0,
                               .histograms = settings.requested_histograms};
    off_cpu::Waits waits(host.host(), std::move(input), setup, 0);
    waits.start();
    record_windows(kernel, waits, number_of_windows);
    timelines = timelines_of(events, 0);
  }

  std::vector<const sched_event*> events;
  std::vector<Window> windows;
  Timelines timelines;

 private:
  void record_windows(SimulatedInput& kernel, off_cpu::Waits& waits, unsigned number) {
    const std::uint64_t first = kernel.now_ns(CLOCK_MONOTONIC), last = events.back()->at;
    const std::uint64_t mean = (last - first) / number;
    for (windows.emplace_back(); kernel.now_ns(CLOCK_MONOTONIC) <= last; windows.emplace_back()) {
      if (edges_ == Edges::Separate) pause(kernel, waits, 2 * mean / 3 + 1);
      for (int drains = 0; drains < 3; ++drains) {
        kernel.advance_to(kernel.now_ns(CLOCK_MONOTONIC) + lengths_() % (2 * mean / 3 + 1));
        waits.drain(windows.back().received->sink());
      }
      if (lengths_() % 2 == 0) kernel.advance_to_edge_near_switch();
      waits.window_ends();
      kernel.advance_to(kernel.now_ns(CLOCK_MONOTONIC) + lengths_() % 1'000'000);
      waits.drain(windows.back().received->sink());
    }
    windows.pop_back();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const std::size_t first_edge = edges_ == Edges::Separate ? 2 * i + 1 : i;
      windows[i].opened = kernel.edges().at(first_edge);
      windows[i].ended = kernel.edges().at(first_edge + 1);
    }
  }

  // Discards what is reported between two windows.
  void pause(SimulatedInput& kernel, off_cpu::Waits& waits, std::uint64_t most) {
    ReceivedData discarded;
    for (int drains = 0; drains < 2; ++drains) {
      kernel.advance_to(kernel.now_ns(CLOCK_MONOTONIC) + lengths_() % most);
      waits.drain(discarded.sink());
    }
    if (lengths_() % 2 == 0) kernel.advance_to_edge_near_switch();
    waits.window_opens();
  }

  Edges edges_;
  std::vector<sched_event> repaired_;
  std::minstd_rand lengths_;
};

inline kernel_settings default_settings(unsigned seed) {
  return {.period_ns = 300'000,
          .every_stack = 0,
          .all_waits = 0,
          .seed = seed,
          .fixed_random = 0,
          .max_stack_records = 60'000,
          .max_other_records = 60'000,
          .tracing_frames = 4,
          .requested_histograms = 0,
          .refuses_histograms = 0};
}

inline Trace load_sched_trace(const std::string& name) {
  return Trace::load(std::string(std::getenv("TRACES")) + "/sched_" + name + ".trace.zst");
}

}  // namespace ctprof::recorded
