#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/sampler.hpp"
#include "tests/recorded/on_cpu_trace.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/record_fixtures.hpp"
#include "tests/recorded/workload.hpp"

namespace ctprof::recorded {
namespace {

using namespace on_cpu_trace;

struct SamplingRecipe {
  const char* name;
  std::uint32_t frequency_hz;
  std::uint32_t stack_bytes;
  std::size_t ring_bytes;
  int drain_ms;
};

// The rings of the third recording overflow.
constexpr SamplingRecipe kRecipes[] = {{"copies", 199, 1024, 1 << 20, 20},
                                       {"chains", 399, 0, 1 << 20, 20},
                                       {"lost", 3999, 512, 1 << 16, 150}};

void record(const SamplingRecipe& recipe, const RecordingDirectories& places) {
  Workload workload({places.programs + "/shares", "1", "49", "14", "7", "5"});
  const std::vector<std::uint64_t> pids{static_cast<std::uint64_t>(workload.pid())};
  on_cpu::Sampling how;
  how.frequency_hz = recipe.frequency_hz;
  how.stack_bytes = recipe.stack_bytes;
  const TestHost host("/proc", "/sys");
  if (const int error = on_cpu::detect_features(how, 0); error != 0)
    throw std::runtime_error("cannot sample: " + std::to_string(error));
  TraceWriter trace;
  add_host_facts(trace);
  add_sampling_facts(how, trace);
  trace.add_fact("pid", std::to_string(workload.pid()));
  trace.add_fact("ring_bytes", std::to_string(recipe.ring_bytes));
  auto events = std::make_unique<on_cpu::PerfEvents>(host.host());
  on_cpu::Sampler sampler(std::make_unique<RecordingInput>(std::move(events), pids, trace), how,
                          recipe.ring_bytes);
  ReceivedData received;
  trace.put(kStart);
  sampler.start();
  workload.release();
  while (!workload.has_exited()) {
    ::usleep(static_cast<useconds_t>(recipe.drain_ms) * 1000);
    trace.put(kDrain);
    sampler.drain(received.sink());
  }
  trace.put(kStop);
  sampler.stop();
  trace.put(kDrain);
  sampler.drain(received.sink());
  trace.put_text(kOutput, workload.output());
  trace.save(places.output + "/on_cpu_" + recipe.name + ".trace.zst");
}

}  // namespace

void record_on_cpu(const RecordingDirectories& directories) {
  ::setenv("SHARES_LIBRARY", (directories.programs + "/libshares.so").c_str(), 1);
  for (const SamplingRecipe& recipe : kRecipes) record(recipe, directories);
}

}  // namespace ctprof::recorded
