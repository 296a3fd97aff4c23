#include "core/flame/flame_frames.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/markup.hpp"
#include "core/base/number.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr double kMinTextShare = 0.008;            // a share that is wide enough for a few letters
constexpr int kColourLevels = 8;                   // shades of red and of blue, as in flame.css
constexpr double kMinFullColourShare = 1.0 / 100;  // minimum for the full colour

std::string format_percentage(double share) { return format_fixed(100 * share, 2) + " %"; }

void append_frame_name(std::string& out, std::string_view name) {
  out += "<text x=\"4\" y=\"13\">";
  append_markup(out, name);
  out += "</text>";
}

// Returns the shade of a name. Neighbours differ slightly, and a name has the same shade
// everywhere.
int get_shade(std::string_view name) {
  constexpr int kShades = 3;
  return std::accumulate(name.begin(), name.end(), 0,
                         [](int sum, char c) { return (sum * 31 + c) & 0xffff; }) %
         kShades;
}

}  // namespace

FlameFrames::FlameFrames(const FlameTree& tree, const std::string& unit, bool is_icicle)
    : tree_(&tree), figures_(tree, unit), is_icicle_(is_icicle), frames_(place_frames(tree)) {
  for (const PlacedFrame& frame : frames_) rows_ = std::max(rows_, frame.depth + 1);
  if (tree.has_baseline) find_largest_change(tree);
  if (tree.is_by_share) groups_ = find_groups(tree);
}

void FlameFrames::find_largest_change(const FlameTree& tree) {
  largest_change_ = static_cast<double>(tree_->root().candidate.total) * kMinFullColourShare;
  for (const FlameNode& node : tree.nodes)
    if (node.merged_nodes == 0 && !node.is_insignificant)
      largest_change_ = std::max(largest_change_, std::abs(figures_.get_self_change(node)));
}

void FlameFrames::append_to(std::string& out) const {
  for (const PlacedFrame& frame : frames_) append_frame(out, frame);
}

void FlameFrames::append_frame(std::string& out, const PlacedFrame& frame) const {
  const FlameNode& node = tree_->nodes[frame.node];
  const std::uint64_t whole = tree_->root().candidate.total;
  const double share = frame.node == 0 ? 1 : get_share(node.candidate.total, whole);
  const int y = is_icicle_ ? frame.depth : rows_ - 1 - frame.depth;
  const std::string name = figures_.format_name(node);
  out += "<svg class=\"f " + get_colour_class(node) + "\" x=\"" +
         format_fixed(100 * get_share(frame.x, whole), 4) + "%\" y=\"" +
         std::to_string(y * kFlameRowHeight) + "\" width=\"" + format_fixed(100 * share, 4) +
         "%\" height=\"" + std::to_string(kFlameRowHeight) + "\"><title>";
  append_markup(out, name);
  append_figures(out, node, share);
  out += "</title><rect width=\"100%\" height=\"17\"/>";
  if (share >= kMinTextShare) append_frame_name(out, name);
  out += "</svg>\n";
}

void FlameFrames::append_figures(std::string& out, const FlameNode& node, double share) const {
  if (const std::string& module = tree_->label(node).module; !module.empty()) {
    out += '\n';
    append_markup(out, make_printable_short(module, kMaxFlameNameBytes));
  }
  out += '\n' + figures_.format_value(node.candidate.total) + ", " + format_percentage(share);
  if (node.candidate.self > 0) out += "; self " + figures_.format_value(node.candidate.self);
  if (!tree_->has_baseline) return;
  out += "; baseline " + figures_.format_baseline(node.baseline.total);
  if (node.baseline.self > 0) out += ", self " + figures_.format_baseline(node.baseline.self);
  if (node.baseline.total > 0) out += " (" + figures_.format_change(node) + ")";
  if (tree_->is_by_share && node.candidate.self + node.baseline.self > 0) append_shares(out, node);
  if (node.is_insignificant && node.candidate.self + node.baseline.self > 0)
    out += "; not significant";
}

void FlameFrames::append_shares(std::string& out, const FlameNode& node) const {
  const auto number = static_cast<std::size_t>(&node - tree_->nodes.data());
  const FlameNode& group = tree_->nodes[groups_[number]];
  out += "; self " + format_percentage(get_share(node.baseline.self, group.baseline.total)) +
         " → " + format_percentage(get_share(node.candidate.self, group.candidate.total)) +
         " of the group";
}

std::string FlameFrames::get_colour_class(const FlameNode& node) const {
  // A merged node has only the candidate's figures; the baseline's are incomplete.
  if (tree_->has_baseline && node.merged_nodes == 0)
    return node.is_insignificant ? "e" : get_change_colour_class(figures_.get_self_change(node));
  const FlameLabel& label = tree_->label(node);
  const char letter = get_frame_kind_styles()[static_cast<std::size_t>(label.kind)].letter;
  return std::string(1, letter) + " a" + std::to_string(get_shade(label.name));
}

std::string FlameFrames::get_change_colour_class(double change) const {
  const auto level = std::lround(kColourLevels * std::abs(change) / largest_change_);
  if (largest_change_ <= 0 || level == 0) return "e";
  return (change > 0 ? "more d" : "less d") + std::to_string(level);
}

}  // namespace ctprof
