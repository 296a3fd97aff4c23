#include <unistd.h>

#include <stdexcept>

#include "plugins/sleepers/bpf_sampler.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/record_fixtures.hpp"
#include "tests/recorded/sleepers_trace.hpp"
#include "tests/recorded/workload.hpp"

namespace ctprof::recorded {
namespace {

using namespace sleepers_trace;

constexpr std::uint64_t kNsPerTick = 1'000'000'000 / TestHost::kUserHz;
constexpr int kPassesOfWindow = 12;

struct SleeperWorkload {
  const char* name;
  std::vector<std::string> command;
  useconds_t pause_us;
};

void record(const SleeperWorkload& recipe, const RecordingDirectories& places) {
  Workload workload(recipe.command);
  int error = 0;
  auto program = sleepers::Program::load(error);
  if (!program) throw std::runtime_error("cannot load: " + std::to_string(error));
  const std::uint64_t pid = static_cast<std::uint64_t>(workload.pid());
  program->select_processes(std::span(&pid, 1), false);
  TraceWriter trace;
  add_host_facts(trace);
  trace.add_fact("pid", std::to_string(pid));
  auto input = std::make_unique<sleepers::KernelSampleInput>(std::move(program), 1024,
                                                             std::set<std::uint32_t>{});
  sleepers::BpfSampler sampler(std::make_unique<RecordingInput>(std::move(input), trace),
                               kNsPerTick);
  std::uint32_t round = 1;
  sleepers::Pass pass;
  for (int passes = 1; !workload.has_exited(); ++passes) {
    pass.clear();
    sampler.sample(round, pass);
    if (passes == 1) workload.release();  // the process was found; it executes another program now
    if (passes % kPassesOfWindow == 0) {
      trace.put(kWindowEnds);
      ++round;
    }
    ::usleep(recipe.pause_us);
  }
  trace.put(kWindowEnds);
  trace.put_text(kOutput, workload.output());
  trace.save(places.output + "/sleepers_" + recipe.name + ".trace.zst");
}

}  // namespace

void record_sleepers(const RecordingDirectories& directories) {
  record({"turns", {directories.programs + "/waits", "turns", "1", "6"}, 15'000}, directories);
  record({"crowd", {directories.programs + "/waits", "turns", "1", "48"}, 50'000}, directories);
  record({"kinds",
          {directories.programs + "/waits", "kinds", directories.scratch + "/sleepers"},
          2'000},
         directories);
  record({"come", {directories.programs + "/sleeps", "come", "120"}, 4'000}, directories);
}

}  // namespace ctprof::recorded
