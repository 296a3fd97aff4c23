// Tests flame graphs that compare the shares of each group (flame --shares).

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/flame/flame_page.hpp"
#include "core/flame/flame_tree.hpp"
#include "tests/flame/stack_profile_builder.hpp"

namespace ctprof::tests::flame_shares_test {
namespace {

constexpr std::uint64_t kRuns = 6, kRunWithoutService = 100;

// `service` gets less CPU time on the candidate side, and a varying amount on both, but `hot` grows
// from 16 % to 20 % of it. `other` does not change.
void add_run(StackProfileBuilder& run, std::uint64_t at, bool is_candidate, bool has_service) {
  const std::uint32_t module = run.add_module("/bin/service");
  run.add_owner({.process = "other", .thread = {}, .cgroup = {}});
  run.add_stack({run.make_frame(module, "idle")}, {900'000 + 1000 * at});
  if (!has_service) return;
  const std::uint64_t cpu_time = is_candidate ? 2000 + 1000 * (at % 3) : 4000 + 1000 * (at % 2);
  const std::uint64_t hot = (is_candidate ? 200 : 160) + at % 3;
  const Frame main = run.make_frame(module, "main");
  run.add_owner({.process = "service", .thread = {}, .cgroup = {}});
  run.add_stack({main, run.make_frame(module, "hot")}, {cpu_time * hot});
  run.add_stack({main, run.make_frame(module, "rest")}, {cpu_time * (1000 - hot)});
}

FlameTree compare_runs(bool by_share, std::uint64_t run_without_service = kRunWithoutService) {
  std::vector<std::unique_ptr<StackProfileBuilder>> builders;
  std::array<FlameSide, 2> sides;
  SideDesign design{{kRuns, kRuns, false}, {}};
  for (std::uint64_t at = 0; at < 2 * kRuns; ++at) {
    builders.push_back(std::make_unique<StackProfileBuilder>(kOnCpu));
    add_run(*builders.back(), at, at >= kRuns, at != run_without_service);
    sides[at >= kRuns].push_back({&builders.back()->get_profile(), 0, 1});
    design.runs.push_back(at);
  }
  return make_flame_tree(sides[1], sides[0], {.design = design, .bar = {}, .by_share = by_share});
}

const FlameNode& node_at(const FlameTree& tree, const std::string& path) {
  for (std::uint32_t node = 0; node < tree.nodes.size(); ++node)
    if (join_texts(get_path(tree, node), ";") == path) return tree.nodes[node];
  BOOST_FAIL("no node " << path);
  return tree.root();
}

double self_share(const FlameFigures& node, const FlameFigures& group) {
  return static_cast<double>(node.self) / static_cast<double>(group.total);
}

BOOST_AUTO_TEST_SUITE(flame_shares_test)

BOOST_AUTO_TEST_CASE(function_of_a_starved_service_is_significant_by_its_share_only) {
  BOOST_TEST(node_at(compare_runs(false), "service;main;hot").is_insignificant);
  const FlameTree tree = compare_runs(true);
  BOOST_TEST(!node_at(tree, "service;main;hot").is_insignificant);
  BOOST_TEST(!node_at(tree, "service;main;rest").is_insignificant);
  // The only function of its group always has the whole share.
  BOOST_TEST(node_at(tree, "other;idle").is_insignificant);
}

BOOST_AUTO_TEST_CASE(baseline_of_each_group_is_scaled_to_the_total_of_the_group) {
  const FlameTree tree = compare_runs(true);
  const FlameNode &service = node_at(tree, "service"), &hot = node_at(tree, "service;main;hot");
  BOOST_TEST(std::abs(static_cast<double>(service.baseline.total) -
                      static_cast<double>(service.candidate.total)) <= 2);
  BOOST_TEST(tree.baseline_scale == 1);
  BOOST_TEST(self_share(hot.baseline, service.baseline) == 0.161,
             boost::test_tools::tolerance(0.01));
  BOOST_TEST(self_share(hot.candidate, service.candidate) == 0.201,
             boost::test_tools::tolerance(0.01));
  BOOST_TEST(merge_small_nodes(tree, 1000, 0).is_by_share);
}

BOOST_AUTO_TEST_CASE(run_without_samples_of_a_group_is_a_gap) {
  const FlameTree tree = compare_runs(true, 0);
  BOOST_TEST(!node_at(tree, "service;main;hot").is_insignificant);
}

BOOST_AUTO_TEST_CASE(titles_show_both_shares) {
  const std::string page = make_flame_page(compare_runs(true), {.title = "t", .unit = "ns"});
  BOOST_TEST(page.find(" % → 20.") != page.npos);
  BOOST_TEST(page.find(" % of the group") != page.npos);
  BOOST_TEST(page.find("each group's baseline is scaled to the same total") != page.npos);
  BOOST_TEST(
      make_flame_page(compare_runs(false), {.title = "t", .unit = "ns"}).find("of the group") ==
      page.npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::flame_shares_test
