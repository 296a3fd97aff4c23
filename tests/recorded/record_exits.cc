#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "plugins/taskstats/probe.hpp"
#include "plugins/taskstats/socket.hpp"
#include "tests/recorded/received.hpp"
#include "tests/recorded/record_fixtures.hpp"
#include "tests/recorded/task_iter_trace.hpp"
#include "tests/recorded/taskstats_trace.hpp"
#include "tests/recorded/workload.hpp"

namespace ctprof::recorded {
namespace {

constexpr useconds_t kDrainUs = 20'000;

// A workload, and the file in which it writes what each thread read about itself (default: its
// output).
struct ExitWorkload {
  std::string name;
  std::vector<std::string> command;
  std::string lines;
};

std::vector<ExitWorkload> exit_workloads(const RecordingDirectories& places, const char* plugin) {
  const std::string ends = places.programs + "/ends", lines = places.scratch + "/" + plugin;
  return {{"threads", {ends, "threads", "60", lines + "1"}, lines + "1"},
          {"processes", {ends, "processes", "40", lines + "2"}, lines + "2"},
          {"takeover", {places.programs + "/takeover"}, ""}};
}

// Creates a cgroup inside another one for its lifetime and moves the workload into the inner one.
// Without a cgroup v2 hierarchy it does nothing.
class InnerCgroup {
 public:
  explicit InnerCgroup(pid_t pid) {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string device, place, type, rest; mounts >> device >> place >> type;) {
      std::getline(mounts, rest);
      if (type == "cgroup2") outer_ = place + "/ctprof-recorded";
    }
    if (outer_.empty()) return;
    std::filesystem::create_directories(outer_ + "/inner");
    std::ofstream(outer_ + "/inner/cgroup.procs") << pid << std::flush;
  }
  ~InnerCgroup() {
    for (const char* name : {"/inner", ""}) ::rmdir((outer_ + name).c_str());
  }
  InnerCgroup(const InnerCgroup&) = delete;
  InnerCgroup& operator=(const InnerCgroup&) = delete;

 private:
  std::string outer_;
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Drains until the workload has exited, and once more after the source has stopped.
void run(const ExitWorkload& recipe, Workload& workload, TraceWriter& trace,
         const std::function<void()>& drain, const std::function<void()>& stop) {
  trace.add_fact("pid", std::to_string(workload.pid()));
  workload.release();
  while (!workload.has_exited()) {
    ::usleep(kDrainUs);
    drain();
  }
  stop();
  drain();
  trace.put_text(kOutput, recipe.lines.empty() ? workload.output() : text_of(recipe.lines));
}

void record_by_bpf(const ExitWorkload& recipe, const RecordingDirectories& places) {
  using namespace task_iter_trace;
  Workload workload(recipe.command);
  const InnerCgroup cgroup(workload.pid());
  TraceWriter trace;
  add_host_facts(trace);
  RecordingInput input(std::make_unique<task_iter::KernelExitInput>(), trace);
  trace.put(kStart);
  input.start(static_cast<std::uint32_t>(workload.pid()));
  const auto drain = [&] {
    trace.put(kDrain);
    input.read([](Bytes) { return true; });
    input.lost_count();
  };
  run(recipe, workload, trace, drain, [&] {
    trace.put(kStop);
    input.stop();
  });
  trace.save(places.output + "/task_iter_" + recipe.name + ".trace.zst");
}

void record_by_netlink(const ExitWorkload& recipe, const RecordingDirectories& places) {
  using namespace taskstats_trace;
  Workload workload(recipe.command);
  TraceWriter trace;
  add_host_facts(trace);
  const TestHost host("/proc", "/sys");
  RecordingInput input(std::make_unique<taskstats::Socket>(),
                       static_cast<std::uint64_t>(workload.pid()), trace);
  trace.put(kStart);
  auto refused = input.open();
  if (refused.error == 0) refused = input.listen(taskstats::read_possible_cpus(host.host()).value);
  if (refused.error != 0) throw std::runtime_error(refused.message);
  input.now_ns(CLOCK_BOOTTIME);
  const auto drain = [&] {
    trace.put(kDrain);
    bool is_empty = false;
    while (!is_empty) {
      is_empty = input.receive_exit_messages().empty();
      input.now_ns(CLOCK_BOOTTIME);
    }
    input.lost_count();
  };
  run(recipe, workload, trace, drain, [&] {
    trace.put(kStop);
    input.stop_listening();
  });
  trace.save(places.output + "/taskstats_" + recipe.name + ".trace.zst");
}

}  // namespace

void record_task_iter(const RecordingDirectories& directories) {
  for (const ExitWorkload& recipe : exit_workloads(directories, "task_iter"))
    record_by_bpf(recipe, directories);
}

void record_taskstats(const RecordingDirectories& directories) {
  for (const ExitWorkload& recipe : exit_workloads(directories, "taskstats"))
    record_by_netlink(recipe, directories);
}

}  // namespace ctprof::recorded
