// Writes windows of a synthetic host, for benchmarks of comparing many runs:
//
//   make_runs DIR RUNS THREADS NAMES [SEED]
//
// All runs have the same threads with different numbers; DIR must exist.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "core/file/file.hpp"
#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace {

using namespace ctprof;

constexpr std::uint64_t kMsPerRun = 3000;

void advance_time(Timestamp& moment, std::uint64_t ms) {
  moment.wall_unix_ns += ms * 1'000'000;
  moment.boottime_ns += ms * 1'000'000;
}

// Advances the host by one run: most counters do not change, as on a real host.
void advance_host(Snapshot& snapshot, std::mt19937_64& random) {
  advance_time(snapshot.meta.start, kMsPerRun);
  advance_time(snapshot.meta.end, kMsPerRun);
  for (Table& table : snapshot.tables)
    for (Column& column : table.columns) {
      if (!counts_up(column.def()) || column.def().storage != Storage::U64) continue;
      for (std::size_t row = 0; row < column.rows(); ++row)
        if (column.has_value(row) && random() % 8 == 0) column.u64()[row] += random() % 1'000'000;
    }
}

std::optional<Error> write_run(const tests::HostShape& shape, const std::string& path,
                               std::mt19937_64& random) {
  const Snapshot before = tests::IdleHost(shape).make();
  Snapshot after = tests::IdleHost(shape).make();
  advance_host(after, random);
  auto window = make_window(before, std::move(after), ExitedThreads{});
  if (!window) return window.error();
  const auto written = write_file(*window, tests::shipped_vocabulary(), path,
                                  {.layout = FileLayout::Columns, .sync = false});
  return written ? std::nullopt : std::optional(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "usage: make_runs DIR RUNS THREADS NAMES [SEED]\n"), 2;
  const auto number = [&](int index) { return std::strtoul(argv[index], nullptr, 10); };
  tests::HostShape shape;
  shape.threads = number(3);
  shape.names = number(4);
  std::mt19937_64 random(argc > 5 ? number(5) : 1);
  for (std::size_t run = 1; run <= number(2); ++run) {
    const std::string name = "000" + std::to_string(run);
    const std::string path =
        std::string(argv[1]) + "/" + name.substr(name.size() - 4) + ".ctprof.zst";
    if (const auto problem = write_run(shape, path, random))
      return std::fprintf(stderr, "make_runs: %s\n", problem->text.c_str()), 2;
  }
}
