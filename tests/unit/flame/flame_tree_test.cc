// Tests the trees of flame graphs: identity of nodes, sums, small nodes, and two sides.

#include <boost/test/unit_test.hpp>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/flame/flame_tree.hpp"
#include "tests/flame/stack_profile_builder.hpp"

namespace ctprof::tests::flame_tree_test {
namespace {

using Lines = std::vector<std::string>;

// Returns "path self/total" of each node.
Lines lines_of(const FlameTree& tree) {
  Lines lines;
  for (std::uint32_t node = 0; node < tree.nodes.size(); ++node) {
    const FlameFigures& now = tree.nodes[node].candidate;
    lines.push_back(join_texts(get_path(tree, node), ";") + " " + std::to_string(now.self) + "/" +
                    std::to_string(now.total));
  }
  return lines;
}

FlameTree tree_of(StackProfileBuilder& stacks) {
  return make_flame_tree({{&stacks.get_profile(), 0, 0}});
}

// Adds `count` leaves below one function, with weights 1, 2, 3 and so on.
void add_leaves(StackProfileBuilder& stacks, std::uint32_t module, std::uint64_t count) {
  const Frame main = stacks.make_frame(module, "main");
  for (std::uint64_t leaf = 1; leaf <= count; ++leaf)
    stacks.add_stack({main, stacks.make_frame(module, "leaf" + std::to_string(leaf))}, {leaf});
}

const FlameNode& node_at(const FlameTree& tree, const std::string& path) {
  for (std::uint32_t node = 0; node < tree.nodes.size(); ++node)
    if (join_texts(get_path(tree, node), ";") == path) return tree.nodes[node];
  BOOST_FAIL("no node " << path);
  return tree.nodes.front();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(flame_tree_test)

BOOST_AUTO_TEST_CASE(adds_totals_below_process_and_thread) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  const Frame main = stacks.make_frame(module, "main"), read = stacks.make_frame(module, "read");
  stacks.add_owner({.process = "worker", .thread = "io", .cgroup = {}});
  stacks.add_stack({main, read}, {60});
  stacks.add_stack({main}, {30});
  stacks.add_owner({.process = "worker", .thread = "", .cgroup = {}});
  stacks.add_stack({main}, {5});
  stacks.add_owner({.process = "", .thread = "", .cgroup = "/a.slice"});
  stacks.add_stack({main}, {7});
  BOOST_TEST(
      lines_of(tree_of(stacks)) == (Lines{" 0/102", "worker 0/95", "worker;io 0/90",
                                          "worker;io;main 30/90", "worker;io;main;read 60/60",
                                          "worker;main 5/5", "/a.slice 0/7", "/a.slice;main 7/7"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(omits_idle_waits_on_request) {
  StackProfileBuilder stacks({{.name = "offcpu_stacks", .unit = "ns", .is_waiting = true}});
  const std::uint32_t module = stacks.add_module("/bin/worker"), kernel = stacks.add_kernel();
  const Frame main = stacks.make_frame(module, "main"),
              poll = stacks.make_frame(kernel, "__x64_sys_poll"),
              futex = stacks.make_frame(kernel, "__x64_sys_futex");
  stacks.add_owner({.process = "worker"});
  stacks.add_stack({main, poll}, {60});
  stacks.add_stack({main, futex}, {30});
  FlameRun run{.profile = &stacks.get_profile()};
  BOOST_TEST(make_flame_tree({run}).root().candidate.total == 90);
  run.hides_idle = true;
  BOOST_TEST(lines_of(make_flame_tree({run})) == (Lines{" 0/30", "worker 0/30", "worker;main 0/30",
                                                        "worker;main;__x64_sys_futex 30/30"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merges_recursive_functions_on_request) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/walk");
  const Frame main = stacks.make_frame(module, "main"), walk = stacks.make_frame(module, "walk");
  stacks.add_owner({.process = "walk"});
  stacks.add_stack({main, walk, walk, walk}, {60});
  stacks.add_stack({main, walk}, {5});
  FlameRun run{.profile = &stacks.get_profile()};
  BOOST_TEST(make_flame_tree({run}).nodes.size() == 6);
  run.folds_recursion = true;
  BOOST_TEST(lines_of(make_flame_tree({run})) ==
                 (Lines{" 0/65", "walk 0/65", "walk;main 0/65", "walk;main;walk 65/65"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merges_two_addresses_of_one_function) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  const Frame here = stacks.make_frame_at(module, 0x10, "main");
  const Frame there = stacks.make_frame_at(module, 0x20, "main");
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({here}, {1});
  stacks.add_stack({there}, {2});
  stacks.add_stack({here, there, here}, {4});
  BOOST_TEST(
      lines_of(tree_of(stacks)) == (Lines{" 0/7", "worker 0/7", "worker;main 3/7",
                                          "worker;main;main 0/4", "worker;main;main;main 4/4"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(labels_unnamed_frames_with_module_and_offset) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t library = stacks.add_module("/usr/lib/libc.so.6"),
                      kernel = stacks.add_kernel();
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({Frame{0x1f40, library, false}, Frame{0xffffffff81000010, kernel, false}}, {1},
                   WalkEnd::EndOfCopy);
  const FlameTree tree = tree_of(stacks);
  BOOST_TEST(lines_of(tree).back() ==
             "worker;[truncated];libc.so.6+0x1f40;[kernel]+0xffffffff81000010 1/1");
  BOOST_TEST((tree.label(tree.nodes[2]).kind == FrameKind::Truncated));
  BOOST_TEST((tree.label(tree.nodes[3]).kind == FrameKind::Native));
  BOOST_TEST((tree.label(tree.nodes[4]).kind == FrameKind::Kernel));
}

BOOST_AUTO_TEST_CASE(distinguishes_kinds_of_frames) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/node"), jit = stacks.add_jit(7);
  stacks.add_owner({.process = "node", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(jit, "render"), stacks.make_frame(module, "guess", true)},
                   {1});
  const FlameTree tree = tree_of(stacks);
  BOOST_TEST((tree.label(node_at(tree, "node;render")).kind == FrameKind::Jit));
  BOOST_TEST((tree.label(node_at(tree, "node;render;guess")).kind == FrameKind::Guessed));
  BOOST_TEST((tree.label(node_at(tree, "node")).kind == FrameKind::Group));
}

BOOST_AUTO_TEST_CASE(sums_saturate) {
  constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  stacks.add_stack({stacks.make_frame(module, "a")}, {kMaxU64});
  stacks.add_stack({stacks.make_frame(module, "b")}, {kMaxU64});
  const FlameTree tree = tree_of(stacks);
  BOOST_TEST(tree.root().candidate.total == kMaxU64);
  BOOST_TEST(merge_small_nodes(tree, 2, 0).nodes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(small_nodes_are_merged_and_counted) {
  StackProfileBuilder stacks(kOnCpu);
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  add_leaves(stacks, stacks.add_module("/bin/worker"), 100);  // 5050 in total
  const FlameTree tree = merge_small_nodes(tree_of(stacks), 1000, 0.01);
  // The nodes 51 to 100 remain; 1 to 50 are merged.
  BOOST_TEST(tree.nodes.size() == 3u + 50 + 1);
  BOOST_TEST(tree.nodes.back().merged_nodes == 50u);
  BOOST_TEST(tree.nodes.back().candidate.total == 1275u);
  BOOST_TEST((tree.label(tree.nodes.back()).kind == FrameKind::Small));
  BOOST_TEST(tree.small_nodes == 50u);
  BOOST_TEST(tree.root().candidate.total == 5050u);
}

BOOST_AUTO_TEST_CASE(limits_the_number_of_nodes) {
  StackProfileBuilder stacks(kOnCpu);
  const std::uint32_t module = stacks.add_module("/bin/worker");
  stacks.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  for (int leaf = 0; leaf < 100; ++leaf)
    stacks.add_stack({stacks.make_frame(module, "main"),
                      stacks.make_frame(module, "leaf" + std::to_string(leaf)),
                      stacks.make_frame(module, "below")},
                     {10});
  const FlameTree tree = merge_small_nodes(tree_of(stacks), 50, 0);
  BOOST_TEST(tree.nodes.size() == 4u);  // all, worker, main, and the merged rest
  BOOST_TEST(tree.nodes.back().merged_nodes == 200u);
  BOOST_TEST(tree.nodes.back().candidate.total == 1000u);
}

BOOST_AUTO_TEST_CASE(matches_nodes_of_two_sides_by_name) {
  StackProfileBuilder before(kOnCpu), after(kOnCpu);
  const std::uint32_t old_module = before.add_module("/bin/worker");
  before.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  before.add_stack({before.make_frame(old_module, "gone"), before.make_frame(old_module, "leaf")},
                   {8});
  before.add_stack({before.make_frame(old_module, "main")}, {10});
  const std::uint32_t new_module =
      (after.add_module("/lib/other"), after.add_module("/bin/worker"));
  after.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  after.make_frame(new_module, "new");
  after.add_stack({after.make_frame(new_module, "main")}, {30});
  const FlameTree tree =
      make_flame_tree({{&after.get_profile(), 0, 20}}, {{&before.get_profile(), 0, 10}});
  BOOST_TEST(tree.baseline_scale == 2);
  BOOST_TEST(node_at(tree, "worker;main").candidate.self == 30u);
  BOOST_TEST(node_at(tree, "worker;main").baseline.self == 10u);
  BOOST_TEST(tree.root().baseline.total == 18u);
  const std::vector<std::uint32_t> baseline_only = find_baseline_only(tree);
  BOOST_REQUIRE(baseline_only.size() == 1u);
  BOOST_TEST(join_texts(get_path(tree, baseline_only[0]), ";") == "worker;gone");
  BOOST_TEST(merge_small_nodes(tree, 1000, 0).small_nodes == 0u);
}

BOOST_AUTO_TEST_CASE(a_weight_without_a_stack_has_no_function) {
  StackTable table;
  const std::uint32_t unknown_module = table.add_module({});
  const std::uint32_t rest = table.add_frame({Frame::kNoOffset, unknown_module});
  BOOST_TEST((get_frame_kind(table, rest) == FrameKind::Truncated));
  BOOST_TEST((get_frame_kind(table, table.add_frame({7, unknown_module})) == FrameKind::Native));
}

// Each run has a table of its own, in which equal numbers mean different functions.
BOOST_AUTO_TEST_CASE(adds_the_runs_of_a_side) {
  StackProfileBuilder first(kOnCpu), second(kOnCpu), before(kOnCpu);
  for (StackProfileBuilder* run : {&first, &second, &before}) {
    const std::uint32_t module = run->add_module("/bin/worker");
    if (run == &second) run->make_frame(module, "other");
    run->add_owner({.process = "worker", .thread = {}, .cgroup = {}});
    run->add_stack({run->make_frame(module, "main"), run->make_frame(module, "read")}, {10});
  }
  second.add_stack({second.make_frame(0, "main")}, {3});
  const FlameSide runs{{&first.get_profile(), 0, 5}, {&second.get_profile(), 0, 15}};
  BOOST_TEST(lines_of(make_flame_tree(runs)) ==
                 (Lines{" 0/23", "worker 0/23", "worker;main 3/23", "worker;main;read 20/20"}),
             boost::test_tools::per_element());
  const FlameTree tree = make_flame_tree(runs, {{&before.get_profile(), 0, 10}});
  BOOST_TEST(tree.baseline_scale == 2);
  BOOST_TEST(node_at(tree, "worker;main;read").baseline.self == 10u);
  const FlameSide side_without_time{{&first.get_profile(), 0, 5}, {&second.get_profile(), 0, 0}};
  BOOST_TEST(make_flame_tree(side_without_time, {{&before.get_profile(), 0, 10}}).baseline_scale ==
             1);
}

namespace {

// The weight of `slow` is 20 % higher on the candidate side. `even` varies as much, but equally on
// both sides. All weights are proportional to `seconds`.
void add_run(StackProfileBuilder& run, std::uint64_t at, bool is_candidate, std::uint64_t seconds) {
  const std::uint64_t variation = 40 * (at % 4);
  const std::uint32_t module = run.add_module("/bin/worker");
  const Frame main = run.make_frame(module, "main");
  run.add_owner({.process = "worker", .thread = {}, .cgroup = {}});
  run.add_stack({main, run.make_frame(module, "slow")},
                {seconds * (is_candidate ? 6000 + variation : 5000 + variation)});
  run.add_stack({main, run.make_frame(module, "even")}, {seconds * (5000 + 3 * variation)});
  run.add_stack({main, run.make_frame(module, "rare")}, {seconds * (is_candidate ? 5 : 1)});
}

// Compares runs of 1 s; the first run of the candidate is `longer` times as long.
FlameTree compare_runs(std::uint64_t runs, SignificanceThreshold bar, std::uint64_t longer = 1) {
  std::vector<std::unique_ptr<StackProfileBuilder>> made;
  std::array<FlameSide, 2> sides;
  for (std::uint64_t at = 0; at < 2 * runs; ++at) {
    const bool is_candidate = at >= runs;
    const std::uint64_t seconds = at == runs ? longer : 1;
    made.push_back(std::make_unique<StackProfileBuilder>(kOnCpu));
    add_run(*made.back(), at, is_candidate, seconds);
    sides[is_candidate].push_back({&made.back()->get_profile(), 0, static_cast<double>(seconds)});
  }
  SideDesign design{{runs, runs, false}, {}};
  for (std::size_t run = 0; run < 2 * runs; ++run) design.runs.push_back(run);
  return make_flame_tree(sides[1], sides[0], {design, bar});
}

}  // namespace

BOOST_AUTO_TEST_CASE(marks_changes_that_are_not_significant) {
  const FlameTree tree = compare_runs(6, {});
  BOOST_TEST(tree.is_tested);
  BOOST_TEST(!node_at(tree, "worker;main;slow").is_insignificant);
  BOOST_TEST(node_at(tree, "worker;main;even").is_insignificant);
  // The function is too small for a significance test.
  BOOST_TEST(node_at(tree, "worker;main;rare").is_insignificant);
  BOOST_TEST(node_at(tree, "worker;main").is_insignificant);  // has no self weight
  BOOST_TEST(merge_small_nodes(tree, 1000, 0).is_tested);
  BOOST_TEST(node_at(merge_small_nodes(tree, 1000, 0), "worker;main;even").is_insignificant);
}

BOOST_AUTO_TEST_CASE(normalizes_by_run_length) {
  const FlameTree tree = compare_runs(6, {}, 50);
  BOOST_TEST(!node_at(tree, "worker;main;slow").is_insignificant);
  BOOST_TEST(node_at(tree, "worker;main;even").is_insignificant);
}

BOOST_AUTO_TEST_CASE(uses_the_requested_significance_level) {
  BOOST_TEST(node_at(compare_runs(6, {.alpha = 1e-6}), "worker;main;slow").is_insignificant);
  BOOST_TEST(node_at(compare_runs(6, {.min_shift = 0.5}), "worker;main;slow").is_insignificant);
  BOOST_TEST(!node_at(compare_runs(6, {.min_shift = 0.1}), "worker;main;slow").is_insignificant);
}

BOOST_AUTO_TEST_CASE(too_few_runs_are_not_significant) {
  const FlameTree tree = compare_runs(2, {});
  BOOST_TEST(tree.is_tested);
  for (const FlameNode& node : tree.nodes) BOOST_TEST(node.is_insignificant);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace ctprof::tests::flame_tree_test
