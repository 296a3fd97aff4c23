#include <unistd.h>

#include <array>
#include <stdexcept>

#include "plugins/off-cpu/programs.hpp"
#include "plugins/off-cpu/waits.hpp"
#include "tests/recorded/off_cpu_trace.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/record_fixtures.hpp"
#include "tests/recorded/workload.hpp"

namespace ctprof::recorded {
namespace {

using namespace off_cpu_trace;

struct OffCpuWorkload {
  const char* name;
  std::vector<std::string> command;
  off_cpu::Setup setup;
  int window_ms;
};

constexpr int kDrainMs = 10;
constexpr int kOneWindow = 1 << 30;

std::vector<OffCpuWorkload> off_cpu_workloads(const RecordingDirectories& places) {
  const std::string waits = places.programs + "/waits";
  return {
      {"kinds", {waits, "kinds", places.scratch + "/file"}, {.period_ns = 1'000'000}, kOneWindow},
      {"turns", {waits, "turns", "1", "3"}, {.period_ns = 500'000, .charges_all_waits = true}, 250},
      {"every",
       {waits, "turns", "1", "1"},
       {.records_every_stack = true, .charges_all_waits = true},
       600},
      {"ends", {places.programs + "/storm", "200", "1000"}, {.period_ns = 50'000}, 70},
      {"takeover", {places.programs + "/takeover", "naps"}, {.period_ns = 200'000}, 90}};
}

// Makes the calls of the core, each after its frame.
class RecordingDriver {
 public:
  RecordingDriver(off_cpu::Waits& waits, TraceWriter& trace) : waits_(waits), trace_(trace) {}

  void start() {
    trace_.put(kStart);
    waits_.start();
  }
  void end_window() {
    trace_.put(kWindowEnds);
    waits_.window_ends();
    drain();
  }
  void drain() {
    trace_.put(kDrain);
    waits_.drain(received_.sink());
  }
  void stop() {
    trace_.put(kStop);
    waits_.stop();
  }

 private:
  off_cpu::Waits& waits_;
  TraceWriter& trace_;
  ReceivedData received_;
};

void record(const OffCpuWorkload& recipe, const RecordingDirectories& places) {
  Workload workload(recipe.command);
  off_cpu::Setup setup = recipe.setup;
  setup.pids = {static_cast<std::uint64_t>(workload.pid())};
  int error = 0;
  auto programs = off_cpu::Programs::load(setup, error);
  if (!programs) throw off_cpu::RefusedOperation("loading the programs of off-cpu", error);
  TraceWriter trace;
  add_host_facts(trace);
  trace.add_fact("pid", std::to_string(workload.pid()));
  trace.add_fact("period_ns", std::to_string(setup.period_ns));
  trace.add_fact("every_stack", std::to_string(setup.records_every_stack));
  trace.add_fact("all_waits", std::to_string(setup.charges_all_waits));
  const TestHost host("/proc");
  off_cpu::Waits waits(host.host(),
                       std::make_unique<RecordingInput>(std::move(programs), setup.pids, trace),
                       setup, 0);
  RecordingDriver driver(waits, trace);
  driver.start();
  workload.release();
  for (int ms = kDrainMs; !workload.has_exited(); ms += kDrainMs) {
    ::usleep(kDrainMs * 1000);
    ms % recipe.window_ms == 0 ? driver.end_window() : driver.drain();
  }
  driver.end_window();
  driver.stop();
  trace.put_text(kOutput, workload.output());
  trace.save(places.output + "/off_cpu_" + recipe.name + ".trace.zst");
}

}  // namespace

void record_off_cpu(const RecordingDirectories& directories) {
  for (const OffCpuWorkload& recipe : off_cpu_workloads(directories)) record(recipe, directories);
}

}  // namespace ctprof::recorded
