// Writes two windows with synthetic call stacks, for stacks_test.py:
//
//   stacks_file BEFORE AFTER SEED [RULE]
//
// RULE is the rule of the metric, with StackSum as its fallback. The windows belong to two builds
// of the same programs, with functions at different addresses, and differ in length. Stacks contain
// functions without names, guessed frames and recursion, and some do not reach their root.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/file/file.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof {
namespace {

using namespace hand_made;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kThreads = 40;

class WindowMaker {
 public:
  WindowMaker(unsigned seed, bool is_rebuilt) : random_(seed), is_rebuilt_(is_rebuilt) {}

  Snapshot make_window_of(std::uint64_t seconds, const std::string& rule) {
    auto synthetic_window = make_window(make_snapshot_at(10), make_snapshot_at(10 + seconds), {});
    if (!synthetic_window) std::exit(1);
    const Cells<std::uint64_t> rows(kThreads, seconds);
    MetricDef def = metric("oncpu_stacks", "StackNs", rule);
    if (rule != "StackSum") def.fallback = "StackSum";
    add(*synthetic_window, def, rows, Gap::ThreadGone,
        [&](Column& column, std::size_t row, std::uint64_t scale) {
          column.ids()[row] = make_stacks(synthetic_window->pools->stacks, scale);
        });
    return std::move(*synthetic_window);
  }

 private:
  std::uint64_t random_below(std::uint64_t most) { return random_() % most; }

  static Snapshot make_snapshot_at(std::uint64_t second) {
    std::vector<Thread> threads;
    Cells<std::uint64_t> starts(kThreads, 5);
    for (std::size_t row = 0; row < kThreads; ++row) {
      const std::string name = "program-" + std::string(1, static_cast<char>('a' + row % 5));
      threads.push_back({row + 1, row + 1, name, name});
    }
    Snapshot snapshot = snapshot_of(threads);
    add_u64(snapshot, identity_metric(kStartTime), starts);
    snapshot.meta.boot_id = "boot";
    snapshot.meta.start.boottime_ns = second * kSecond;
    snapshot.read_at.assign(kThreads, 1);
    return snapshot;
  }

  Frame make_frame(StackTable& table) {
    const std::uint64_t library = random_below(3), function = random_below(12),
                        instruction = random_below(4);
    const std::string path = (is_rebuilt_ ? "/opt/lib" : "/usr/lib") + std::to_string(library);
    const std::string build = library == 2 ? "same" : is_rebuilt_ ? "new" : "old";
    const Frame value{
        (is_rebuilt_ && library < 2 ? 0x8000 : 0x1000) + function * 64 + instruction,
        table.add_module({Module::Kind::File, path + ".so", build + std::to_string(library), 0}),
        random_below(20) == 0};
    if (function > 2) table.set_name(table.add_frame(value), "f" + std::to_string(function));
    return value;
  }

  Id make_stacks(StackPool& pool, std::uint64_t scale) {
    std::vector<ctprof_stack> value;
    for (std::uint64_t count = random_below(30); count > 0; --count) {
      std::vector<Frame> frames;
      for (std::uint64_t depth = random_below(9); depth > 0; --depth)
        frames.push_back(make_frame(pool.table));
      const std::uint32_t node =
          pool.table.add_stack(frames, random_below(10) == 0 ? WalkEnd::EndOfCopy : WalkEnd::Root);
      value.push_back({node, random_below(1000) * scale * 1000});
    }
    return pool.append(value);
  }

  std::mt19937_64 random_;
  bool is_rebuilt_;
};

}  // namespace
}  // namespace ctprof

int main(int argc, char** argv) {
  using namespace ctprof;
  if (argc < 4) return 2;
  const std::string rule = argc > 4 ? argv[4] : "StackSum";
  const auto seed = static_cast<unsigned>(std::atoi(argv[3]));
  for (const bool is_rebuilt : {false, true}) {
    const Snapshot value =
        WindowMaker(seed + is_rebuilt, is_rebuilt).make_window_of(is_rebuilt ? 20 : 10, rule);
    const auto written =
        write_file(value, {}, argv[1 + is_rebuilt], {.layout = FileLayout::Columns, .sync = false});
    if (!written) return std::fprintf(stderr, "%s\n", written.error().text.c_str()), 1;
  }
}
