#include "core/flame/flame_tree.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/seeded_hash.hpp"
#include "core/flame/flame_evidence.hpp"
#include "core/stacks/kernel_waits.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kAll = "all";
constexpr std::string_view kSmall = "[small]";

void add_saturated(std::uint64_t& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

void add_totals(std::vector<FlameNode>& nodes) {
  for (std::size_t number = nodes.size(); number-- > 0;) {
    FlameNode& node = nodes[number];
    FlameNode& parent = nodes[node.parent];
    for (const auto figures : {&FlameNode::candidate, &FlameNode::baseline}) {
      add_saturated((node.*figures).total, (node.*figures).self);
      if (number > 0) add_saturated((parent.*figures).total, (node.*figures).total);
    }
  }
}

// An index of nodes by parent and label, with open addressing. A tree has millions of nodes, and
// std::unordered_map would need most of the time for building it.
class ChildIndex {
 public:
  // Returns the slot of the node; if it contains kNone, the caller stores the node there. The
  // reference is valid until the next call.
  std::uint32_t& find_slot(std::uint32_t parent, std::uint32_t label) {
    if (2 * used_ >= slots_.size()) grow();
    const std::uint64_t key = std::uint64_t{parent} << 32 | label;
    Slot& slot = find_key(key);
    if (slot.node == kNone) slot.key = key, ++used_;
    return slot.node;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t node = kNone;
  };

  Slot& find_key(std::uint64_t key) {
    std::size_t at = SeededHash()(key) & (slots_.size() - 1);
    while (slots_[at].node != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old)
      if (slot.node != kNone) find_key(slot.key) = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // the size is a power of two
  std::size_t used_ = 0;
};

// Returns whether the function is a system call in which a thread is idle.
bool is_idle_function(std::string_view function) { return is_idle_call(get_kernel_word(function)); }

class TreeBuilder {
 public:
  TreeBuilder() {
    label({std::string(kAll), {}, FrameKind::Group});
    tree_.nodes.emplace_back();
  }

  // `runs`: receives the self weights of the nodes of each run; null: not needed.
  void add_side(const FlameSide& side, FlameFigures FlameNode::*figures,
                std::vector<FlameWeights>* runs = nullptr) {
    for (const FlameRun& run : side) {
      weights_ = runs ? &runs->emplace_back() : nullptr;
      add_run(run, figures);
    }
  }

  FlameTree take_tree() {
    add_totals(tree_.nodes);
    return std::move(tree_);
  }

 private:
  // The node of the tree for a node of the table, below an owner.
  struct PlacedNode {
    std::uint32_t owner = kNone;
    std::uint32_t node = 0;
  };

  void add_run(const FlameRun& run, FlameFigures FlameNode::*figures) {
    table_ = run.profile->table;
    run_ = &run;
    idle_.clear();
    if (run.hides_idle && run.profile->values[run.value].is_waiting)
      idle_ = find_nodes_below(*table_, &is_idle_function);
    labels_of_frames_.assign(table_->frames().size(), kNone);
    placed_nodes_.assign(table_->nodes().size(), {});
    for (const OwnedStacks& owned : run.profile->owners)
      if (!owned.weights[run.value].empty()) add_owned_stacks(owned, run.value, figures);
  }

  bool is_idle(const OwnedStacks& owned, const ctprof_stack& stack) const {
    if (idle_.empty()) return false;
    if (stack.stack < idle_.size() && idle_[stack.stack]) return true;
    const std::optional<double>& min_weight = run_->profile->values[run_->value].min_idle_ns;
    return owned.is_rarely_waiting && min_weight &&
           static_cast<double>(stack.weight) >= *min_weight;
  }

  void add_owned_stacks(const OwnedStacks& owned, std::size_t value,
                        FlameFigures FlameNode::*figures) {
    ++owner_;
    root_ = 0;
    for (const std::string_view name : get_root_names(owned.owner))
      root_ = find_or_add_child(root_, label({std::string(name), {}, FrameKind::Group}));
    for (const ctprof_stack& stack : owned.weights[value]) {
      if (is_idle(owned, stack)) continue;
      const std::uint32_t node = find_or_add_stack(static_cast<std::uint32_t>(stack.stack));
      add_saturated((tree_.nodes[node].*figures).self, stack.weight);
      if (weights_) weights_->nodes.emplace_back(node, static_cast<double>(stack.weight));
    }
  }

  // Finds or adds the tree node of a stack. It goes up to the first placed frame and then down, so
  // the cost depends only on the new frames of a stack.
  std::uint32_t find_or_add_stack(std::uint32_t stack) {
    new_nodes_.clear();
    for (; stack != StackTable::kTop && placed_nodes_[stack].owner != owner_;
         stack = table_->nodes()[stack].parent)
      new_nodes_.push_back(stack);
    std::uint32_t node = stack == StackTable::kTop ? root_ : placed_nodes_[stack].node;
    for (auto new_node = new_nodes_.rbegin(); new_node != new_nodes_.rend(); ++new_node) {
      const std::uint32_t label = find_label(table_->nodes()[*new_node].frame);
      const bool is_recursion = run_->folds_recursion && tree_.nodes[node].label == label;
      if (!is_recursion) node = find_or_add_child(node, label);
      placed_nodes_[*new_node] = {owner_, node};
    }
    return node;
  }

  std::uint32_t find_label(std::uint32_t frame) {
    std::uint32_t& known = labels_of_frames_[frame];
    if (known == kNone)
      known =
          label({get_function_name(*table_, frame), std::string(get_frame_module(*table_, frame)),
                 get_frame_kind(*table_, frame)});
    return known;
  }

  std::uint32_t label(FlameLabel label) {
    std::string key(1, static_cast<char>(label.kind));
    key += std::to_string(label.name.size()) + ' ' + label.name + label.module;
    const auto next = static_cast<std::uint32_t>(tree_.labels.size());
    const auto [known, is_new] = label_numbers_.emplace(std::move(key), next);
    if (is_new) tree_.labels.push_back(std::move(label));
    return known->second;
  }

  std::uint32_t find_or_add_child(std::uint32_t parent, std::uint32_t label) {
    std::uint32_t& node = children_.find_slot(parent, label);
    if (node != kNone) return node;
    node = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes.push_back({.parent = parent, .label = label, .candidate = {}, .baseline = {}});
    return node;
  }

  FlameTree tree_;
  std::unordered_map<std::string, std::uint32_t, SeededHash> label_numbers_;
  ChildIndex children_;

  const StackTable* table_ = nullptr;
  const FlameRun* run_ = nullptr;
  std::vector<bool> idle_;  // by node of the table; empty: no wait is omitted
  std::vector<std::uint32_t> labels_of_frames_;
  std::vector<PlacedNode> placed_nodes_;  // by node of the table
  std::vector<std::uint32_t> new_nodes_;  // nodes of the table that are not placed yet
  std::uint32_t owner_ = 0;
  std::uint32_t root_ = 0;           // of the current owner
  FlameWeights* weights_ = nullptr;  // of the current run
};

// Returns the total length of all runs; 0 if the length of any run is unknown.
double get_total_seconds(const FlameSide& side) {
  double seconds = 0;
  for (const FlameRun& run : side) {
    if (run.seconds <= 0) return 0;
    seconds += run.seconds;
  }
  return seconds;
}

double get_baseline_scale(const FlameSide& candidate, const FlameSide& baseline) {
  const double candidate_seconds = get_total_seconds(candidate),
               baseline_seconds = get_total_seconds(baseline);
  return candidate_seconds > 0 && baseline_seconds > 0 ? candidate_seconds / baseline_seconds : 1;
}

// Scales the baseline of each group to the group's total. A group of one side remains unchanged.
void scale_to_groups(FlameTree& tree) {
  const std::vector<std::uint32_t> groups = find_groups(tree);
  std::vector<double> scales;
  for (const FlameNode& node : tree.nodes) {
    const bool is_on_both_sides = node.candidate.total > 0 && node.baseline.total > 0;
    scales.push_back(is_on_both_sides ? static_cast<double>(node.candidate.total) /
                                            static_cast<double>(node.baseline.total)
                                      : 1);
  }
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    FlameNode& node = tree.nodes[number];
    const double scaled = static_cast<double>(node.baseline.self) * scales[groups[number]];
    node.baseline.self = scaled < 0x1p63 ? static_cast<std::uint64_t>(std::llround(scaled))
                                         : std::numeric_limits<std::uint64_t>::max();
    node.candidate.total = node.baseline.total = 0;
  }
  add_totals(tree.nodes);
}

FlameTree mark_as_comparison(FlameTree tree, const FlameSide& candidate, const FlameSide& baseline,
                             bool by_share) {
  tree.has_baseline = true;
  tree.is_by_share = by_share;
  if (by_share)
    scale_to_groups(tree);
  else
    tree.baseline_scale = get_baseline_scale(candidate, baseline);
  return tree;
}

// Returns the largest total of a small node, so that at most `max_nodes` nodes have a larger total.
std::uint64_t find_small_limit(const FlameTree& tree, std::size_t max_nodes, double min_share) {
  const double share = static_cast<double>(tree.root().candidate.total) * min_share;
  const auto by_share = static_cast<std::uint64_t>(std::max(std::ceil(share) - 1, 0.0));
  if (tree.nodes.size() <= max_nodes) return by_share;
  std::vector<std::uint64_t> totals;
  for (const FlameNode& node : tree.nodes) totals.push_back(node.candidate.total);
  const auto first_excess = totals.begin() + static_cast<std::ptrdiff_t>(max_nodes);
  std::nth_element(totals.begin(), first_excess, totals.end(), std::greater<>());
  return std::max(by_share, *first_excess);
}

void add_small(FlameNode& small, const FlameNode& node) {
  ++small.merged_nodes;
  for (const auto figures : {&FlameNode::candidate, &FlameNode::baseline}) {
    add_saturated((small.*figures).self, (node.*figures).self);
    add_saturated((small.*figures).total, (node.*figures).self);
  }
}

// Appends the merged nodes by parent; those that are still too small are omitted.
void append_small(FlameTree& remaining, const std::vector<FlameNode>& merged, std::uint64_t limit) {
  const auto label = static_cast<std::uint32_t>(remaining.labels.size());
  remaining.labels.push_back({std::string(kSmall), {}, FrameKind::Small});
  for (std::uint32_t parent = 0; parent < merged.size(); ++parent) {
    if (merged[parent].candidate.total <= limit) continue;
    remaining.nodes.push_back(merged[parent]);
    remaining.nodes.back().parent = parent;
    remaining.nodes.back().label = label;
  }
}

}  // namespace

std::vector<std::uint32_t> find_groups(const FlameTree& tree) {
  std::vector<std::uint32_t> groups(tree.nodes.size());
  for (std::uint32_t number = 1; number < groups.size(); ++number) {
    const FlameNode& node = tree.nodes[number];
    const bool is_group = node.parent == 0 && tree.label(node).kind == FrameKind::Group;
    groups[number] = is_group ? number : groups[node.parent];
  }
  return groups;
}

FlameTree make_flame_tree(const FlameSide& side) {
  TreeBuilder builder;
  builder.add_side(side, &FlameNode::candidate);
  return builder.take_tree();
}

FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline, bool by_share) {
  TreeBuilder builder;
  builder.add_side(candidate, &FlameNode::candidate);
  builder.add_side(baseline, &FlameNode::baseline);
  return mark_as_comparison(builder.take_tree(), candidate, baseline, by_share);
}

FlameTree make_flame_tree(const FlameSide& candidate, const FlameSide& baseline,
                          const FlameTestDesign& test) {
  TreeBuilder builder;
  std::vector<FlameWeights> runs;
  builder.add_side(baseline, &FlameNode::baseline, &runs);
  builder.add_side(candidate, &FlameNode::candidate, &runs);
  FlameTree tree = mark_as_comparison(builder.take_tree(), candidate, baseline, test.by_share);
  if (get_total_seconds(candidate) > 0 && get_total_seconds(baseline) > 0) {
    auto run = runs.begin();
    for (const FlameSide* side : {&baseline, &candidate})
      for (const FlameRun& flame_run : *side) (run++)->seconds = flame_run.seconds;
  }
  mark_insignificant(tree, runs, test.design, test.bar);
  return tree;
}

// Descendants of a small node are small, too: they are merged into the same node.
FlameTree merge_small_nodes(const FlameTree& tree, std::size_t max_nodes, double min_share) {
  const std::uint64_t limit = find_small_limit(tree, max_nodes, min_share);
  FlameTree result{
      tree.labels,     {}, tree.has_baseline, tree.baseline_scale, tree.is_tested, tree.is_by_share,
      tree.small_nodes};
  std::vector<std::uint32_t> result_nodes(tree.nodes.size());  // by node: the remaining node
  std::vector<FlameNode> merged;                               // by remaining parent
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    FlameNode node = tree.nodes[number];
    node.parent = result_nodes[node.parent];
    const bool is_large = number == 0 || node.candidate.total > limit;
    result_nodes[number] = is_large ? static_cast<std::uint32_t>(result.nodes.size()) : node.parent;
    if (is_large) {
      result.nodes.push_back(node);
      merged.emplace_back();
    } else if (node.candidate.total > 0) {
      add_small(merged[node.parent], node);
      ++result.small_nodes;
    }
  }
  append_small(result, merged, limit);
  return result;
}

std::vector<std::uint32_t> find_baseline_only(const FlameTree& tree) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t number = 1; number < tree.nodes.size(); ++number) {
    const FlameNode& node = tree.nodes[number];
    if (node.candidate.total == 0 && node.baseline.total > 0 &&
        tree.nodes[node.parent].candidate.total > 0)
      found.push_back(number);
  }
  std::ranges::stable_sort(found, std::greater<>(),
                           [&](std::uint32_t number) { return tree.nodes[number].baseline.total; });
  return found;
}

std::vector<std::string_view> get_path(const FlameTree& tree, std::uint32_t node) {
  std::vector<std::string_view> path;
  for (; node != 0; node = tree.nodes[node].parent)
    path.push_back(tree.label(tree.nodes[node]).name);
  std::ranges::reverse(path);
  return path;
}

}  // namespace ctprof
