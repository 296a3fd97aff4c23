// Records the fixtures of tests/recorded on the running kernel.
//
//   record_fixtures PROGRAMS OUTPUT [PLUGIN...]
//
// Runs the workloads in the directory PROGRAMS (the build directory of tests/record) and writes
// OUTPUT/PLUGIN_WORKLOAD.trace.zst for all plugins, or for the specified ones. Needs root and BPF.
//
// Exit status: 0 for success, 1 if a recording failed, 2 for invalid arguments.

#include "tests/recorded/record_fixtures.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <vector>

namespace ctprof::recorded {

void add_host_facts(TraceWriter& trace) {
  utsname kernel;
  ::uname(&kernel);
  trace.add_fact("kernel", kernel.release);
  trace.add_fact("machine", kernel.machine);
}

namespace {

using Record = void (*)(const RecordingDirectories&);
const std::map<std::string, Record> kPlugins{
    {"off-cpu", record_off_cpu},     {"on-cpu", record_on_cpu},
    {"sched", record_sched},         {"sleepers", record_sleepers},
    {"task-iter", record_task_iter}, {"taskstats", record_taskstats}};

int record_all(const RecordingDirectories& directories, const std::vector<std::string>& names) {
  int failed = 0;
  for (const std::string& name : names) {
    try {
      kPlugins.at(name)(directories);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "record_fixtures: %s: %s\n", name.c_str(), error.what());
      failed = 1;
    }
  }
  return failed;
}

int run(int count, char** words) {
  std::vector<std::string> names(words + std::min(count, 3), words + count);
  if (names.empty())
    for (const auto& [name, record] : kPlugins) names.push_back(name);
  bool has_invalid_arguments = count < 3;
  for (const std::string& name : names) has_invalid_arguments |= !kPlugins.contains(name);
  if (has_invalid_arguments) {
    std::fprintf(stderr, "usage: record_fixtures PROGRAMS OUTPUT [PLUGIN...]\n");
    return 2;
  }
  char scratch[] = "/tmp/record_fixtures.XXXXXX";
  if (::mkdtemp(scratch) == nullptr) return 1;
  const int failed = record_all({words[1], words[2], scratch}, names);
  std::filesystem::remove_all(scratch);
  return failed;
}

}  // namespace
}  // namespace ctprof::recorded

int main(int count, char** words) { return ctprof::recorded::run(count, words); }
