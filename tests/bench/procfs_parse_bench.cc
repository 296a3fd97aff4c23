// Measures parsing the files of one thread: repeatedly parses the text of a recorded thread.

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "plugins/procfs-sched/sched.hpp"
#include "plugins/procfs-sched/smaps_rollup.hpp"
#include "plugins/procfs-sched/stat.hpp"
#include "plugins/procfs-sched/status.hpp"
#include "plugins/procfs-sched/thread_files.hpp"

namespace {

using namespace ctprof::procfs;

std::string text_of(const char* path) {
  std::ifstream file(std::string(CTPROF_FIXTURES "/") + path, std::ios::binary);
  if (!file) throw std::runtime_error("no fixture to parse");
  return {std::istreambuf_iterator<char>(file), {}};
}

template <auto kParse>
void parse(benchmark::State& state, const char* path) {
  const std::string text = text_of(path);
  for (auto _ : state) {
    auto parsed = kParse(text);
    benchmark::DoNotOptimize(parsed);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

IoFile::Values io(std::string_view text) { return IoFile::parse(text); }
Status status(std::string_view text) { return StatusFile::parse(text); }

std::size_t smaps_rollup(std::string_view text) {
  static std::vector<ctprof_entry> entries;
  parse_smaps_rollup(text, entries);
  return entries.size();
}

struct Case {
  const char* name;
  void (*run)(benchmark::State&, const char*);
  const char* path;
};

constexpr Case kCases[] = {
    {"stat", parse<parse_stat>, "6.18/proc/151/task/169/stat"},
    {"schedstat", parse<SchedstatFile::parse>, "6.18/proc/1/task/1/schedstat"},
    {"io", parse<io>, "6.18/proc/1/task/1/io"},
    {"status", parse<status>, "6.18/proc/1/task/1/status"},
    {"sched", parse<parse_sched>, "6.18/proc/1/task/1/sched"},
    {"sched of 5.10", parse<parse_sched>, "5.10/proc/1/task/1/sched"},
    {"sched without statistics", parse<parse_sched>, "6.18-schedstats-off/proc/151/task/151/sched"},
    {"smaps_rollup", parse<smaps_rollup>, "6.18/proc/151/smaps_rollup"},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& item : kCases) benchmark::RegisterBenchmark(item.name, item.run, item.path);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
