#include "core/page/group_tree.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/flame/flame_evidence.hpp"
#include "core/render/stacks_text.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kKernel = "[kernel]", kAnonymous = "[anonymous]";

FrameKind get_frame_kind(const StackFunction& function) {
  if (function.is_guessed) return FrameKind::Guessed;
  if (function.module == kKernel) return FrameKind::Kernel;
  return function.module == kAnonymous ? FrameKind::Jit : FrameKind::Native;
}

// Builds the tree. Means over runs are added as doubles and rounded at the end, because the share
// of a sample in one run is less than one.
class GroupTreeBuilder {
 public:
  explicit GroupTreeBuilder(const CommonStacks& common) : common_(&common) {
    tree_.labels.push_back({"all", {}, FrameKind::Group});
    tree_.nodes.emplace_back();
    weights_.emplace_back();
    nodes_.emplace(CommonStacks::kEmptyStack, 0);
  }

  void add_side(const Report& report, CellPosition at, std::size_t side) {
    const auto runs = report.rollup().stacks(at);
    for (const RunStacks& run : runs)
      for (const ctprof_stack& stack : run.stacks)
        weights_[find_or_add_node(static_cast<std::uint32_t>(stack.stack))].self[side] +=
            static_cast<double>(stack.weight) * run.scale / static_cast<double>(runs.size());
  }

  // Marks insignificant nodes. A node is significant if its own change is and if its function is in
  // this group; the function is tested together with those of all groups.
  void mark_significance(const Report& report, RowPosition at) {
    tree_.is_by_share = report.stacks()->is_by_share();
    const FrameEvidence& functions = report.stacks()->evidence();
    const auto& known = report.families().design(1);
    if (!functions.is_tested() || !known) return;
    const SideDesign& design = *known;
    std::vector<FlameWeights> runs(report.runs(0).size() + report.runs(1).size());
    for (const std::size_t run : design.runs)
      runs[run] = get_run_weights(report.rollup().stacks_of_run(run, at.group, at.metric));
    mark_insignificant(tree_, runs, design, report.spec().significance);
    for (const auto& [stack, node] : nodes_) {
      if (tree_.nodes[node].is_insignificant) continue;
      const auto test_result = functions.find_result(at, common_->function(stack), 1);
      tree_.nodes[node].is_insignificant = !test_result || !test_result->is_significant;
    }
  }

  FlameTree take_tree(bool has_baseline) {
    tree_.has_baseline = has_baseline;
    for (std::size_t at = 0; at < weights_.size(); ++at) weights_[at].total = weights_[at].self;
    for (std::size_t at = weights_.size(); at-- > 1;)
      for (std::size_t side = 0; side < 2; ++side)
        weights_[tree_.nodes[at].parent].total[side] += weights_[at].total[side];
    for (std::size_t at = 0; at < weights_.size(); ++at) {
      tree_.nodes[at].candidate = round_figures(weights_[at], 0);
      tree_.nodes[at].baseline = round_figures(weights_[at], 1);
    }
    const auto& [candidate, baseline] = weights_.front().total;
    if (tree_.is_by_share && candidate > 0 && baseline > 0)
      tree_.baseline_scale = candidate / baseline;
    return std::move(tree_);
  }

 private:
  FlameWeights get_run_weights(const std::optional<RunStacks>& run) {
    FlameWeights weights{.is_gap = !run};
    if (!run) return weights;
    for (const ctprof_stack& each : run->stacks)
      weights.nodes.emplace_back(find_or_add_node(static_cast<std::uint32_t>(each.stack)),
                                 static_cast<double>(each.weight) * run->scale);
    return weights;
  }

  struct Weights {
    std::array<double, 2> self{}, total{};  // by side: candidate, baseline
  };

  static std::uint64_t round_to_u64(double value) {
    constexpr double kTwoTo63 = 0x1p63;
    return value >= kTwoTo63 ? UINT64_MAX : static_cast<std::uint64_t>(std::llround(value));
  }
  static FlameFigures round_figures(const Weights& weights, std::size_t which) {
    return {round_to_u64(weights.self[which]), round_to_u64(weights.total[which])};
  }

  // Returns the stack's node, after adding those of its callers. Calls from two places of a caller
  // are one node, because common stacks contain functions, not instructions.
  std::uint32_t find_or_add_node(std::uint32_t stack) {
    std::vector<std::uint32_t> missing;
    while (!nodes_.contains(stack)) {
      missing.push_back(stack);
      stack = common_->caller(stack);
    }
    std::uint32_t node = nodes_.at(stack);
    for (; !missing.empty(); missing.pop_back()) {
      FlameNode new_node;
      new_node.parent = node;
      new_node.label = find_or_add_label(common_->function(missing.back()));
      node = static_cast<std::uint32_t>(tree_.nodes.size());
      tree_.nodes.push_back(new_node);
      weights_.emplace_back();
      nodes_.emplace(missing.back(), node);
    }
    return node;
  }

  std::uint32_t find_or_add_label(std::uint32_t number) {
    const auto [found, is_new] =
        labels_.try_emplace(number, static_cast<std::uint32_t>(tree_.labels.size()));
    if (is_new) {
      const StackFunction& function = common_->functions()[number];
      tree_.labels.push_back(
          {format_function(function), function.module, get_frame_kind(function)});
    }
    return found->second;
  }

  const CommonStacks* common_;
  FlameTree tree_;
  std::vector<Weights> weights_;                            // by node
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_;  // by stack
  std::unordered_map<std::uint32_t, std::uint32_t> labels_;
};

}  // namespace

FlameTree make_group_tree(const Report& report, RowPosition at) {
  GroupTreeBuilder builder(report.stacks()->common_stacks());
  const bool compares = report.is_comparison();
  builder.add_side(report, {compares ? std::size_t{1} : 0, at.group, at.metric}, 0);
  if (compares) builder.add_side(report, {0, at.group, at.metric}, 1);
  if (compares) builder.mark_significance(report, at);
  return builder.take_tree(compares);
}

}  // namespace ctprof
