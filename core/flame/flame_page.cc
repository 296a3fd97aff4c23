#include "core/flame/flame_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/base/markup.hpp"
#include "core/base/number.hpp"
#include "core/flame/flame_files.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxFrames = 8'000;
// A tenth of a pixel of a wide screen: the limit of what zooming makes visible.
constexpr double kMinShare = 1.0 / 25'000;
constexpr double kMinTextShare = 0.008;     // a share that is wide enough for a few letters
constexpr std::size_t kMaxNameBytes = 256;  // bytes
constexpr std::size_t kMaxListed = 40;

constexpr int kRowHeight = 18;  // as in flame.js
constexpr int kHeadHeight = 68;
constexpr int kColourLevels = 8;                   // shades of red and of blue, as in flame.css
constexpr double kMinFullColourShare = 1.0 / 100;  // minimum for the full colour

// --- text
// -----------------------------------------------------------------------------------------------

double get_share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string format_percentage(double share) { return format_fixed(100 * share, 2) + " %"; }

std::uint64_t round_to_u64(double value) {
  constexpr double kTwoTo64 = 18446744073709551616.0;  // 2^64
  return value >= kTwoTo64 ? UINT64_MAX
                           : static_cast<std::uint64_t>(std::llround(std::max(value, 0.0)));
}

struct KindStyle {
  char letter;  // its class in flame.css
  std::string_view word;
};

// Indexed by FrameKind.
constexpr std::array kKinds{KindStyle{'g', "threads"}, KindStyle{'n', "native"},
                            KindStyle{'k', "kernel"},  KindStyle{'j', "JIT"},
                            KindStyle{'u', "guessed"}, KindStyle{'t', "truncated"},
                            KindStyle{'s', "small"}};

const KindStyle& get_kind_style(const FlameLabel& label) {
  return kKinds[static_cast<std::size_t>(label.kind)];
}

// --- placement of frames
// ---------------------------------------------------------------------------------

struct PlacedFrame {
  std::uint32_t node = 0;
  int depth = 0;
  std::uint64_t x = 0;  // in units of weight, from the left edge
};

// Returns the nodes with children of one parent ordered by name; merged nodes come last.
std::vector<std::uint32_t> sort_nodes(const FlameTree& tree) {
  std::vector<std::uint32_t> order(tree.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const FlameNode &first = tree.nodes[a], &second = tree.nodes[b];
    if (first.parent != second.parent) return first.parent < second.parent;
    if ((first.merged_nodes == 0) != (second.merged_nodes == 0)) return first.merged_nodes == 0;
    const int names = tree.label(first).name.compare(tree.label(second).name);
    return names != 0 ? names < 0 : a < b;
  });
  return order;
}

// Returns the frames, each before its children, and children from left to right.
std::vector<PlacedFrame> place_frames(const FlameTree& tree) {
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (const std::uint32_t node : sort_nodes(tree))
    if (node != 0) children[tree.nodes[node].parent].push_back(node);
  std::vector<PlacedFrame> frames, pending{{}};
  while (!pending.empty()) {
    const PlacedFrame frame = pending.back();
    pending.pop_back();
    frames.push_back(frame);
    const std::size_t first = pending.size();
    std::uint64_t x = frame.x;
    for (const std::uint32_t child : children[frame.node]) {
      pending.push_back({child, frame.depth + 1, x});
      x += tree.nodes[child].candidate.total;
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
  return frames;
}

// --- the page
// -------------------------------------------------------------------------------------------

class Page {
 public:
  Page(const FlameTree& full_tree, const FlameTree& drawn_tree, const FlameStyle& style)
      : full_tree_(&full_tree),
        tree_(&drawn_tree),
        style_(&style),
        frames_(place_frames(drawn_tree)) {
    for (const PlacedFrame& frame : frames_) rows_ = std::max(rows_, frame.depth + 1);
    if (full_tree.has_baseline) baseline_only_ = find_baseline_only(full_tree);
    if (tree_->has_baseline) find_largest_change(*tree_);
  }

  // Returns the frames for another page, which contains the style; without head, list and script.
  std::string make_element() {
    if (tree_->has_baseline) find_largest_change(*full_tree_);
    begin_part();
    for (const PlacedFrame& frame : frames_) append_frame(frame);
    out_ += "</svg></svg>\n";
    return std::move(out_);
  }

  std::string make_page() {
    if (style_->format == FlameStyle::Format::Html) begin_html();
    begin_svg();
    for (const PlacedFrame& frame : frames_) append_frame(frame);
    out_ += "</svg>\n";
    append_list();
    append_head();
    out_ += "<script>";
    append_markup(out_, kFlameJs);
    out_ += "</script>\n</svg>\n";
    if (style_->format == FlameStyle::Format::Html) out_ += "</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  int get_frames_height() const { return rows_ * kRowHeight; }
  int get_list_height() const {
    const std::size_t lines = std::min(baseline_only_.size(), kMaxListed + 1);
    return baseline_only_.empty() ? 0 : static_cast<int>(lines + 2) * kRowHeight;
  }
  int get_height() const {
    return kHeadHeight + get_frames_height() + get_list_height() + kRowHeight;
  }
  const FlameNode& root() const { return tree_->root(); }

  std::string format_value(std::uint64_t weight) const {
    return format_scaled(make_number(weight), style_->unit);
  }
  std::uint64_t scale_baseline(std::uint64_t weight) const {
    return round_to_u64(static_cast<double>(weight) * tree_->baseline_scale);
  }
  double get_change(const FlameFigures& now, const FlameFigures& baseline) const {
    return static_cast<double>(now.self) -
           static_cast<double>(baseline.self) * tree_->baseline_scale;
  }

  void find_largest_change(const FlameTree& tree) {
    largest_change_ = static_cast<double>(root().candidate.total) * kMinFullColourShare;
    for (const FlameNode& node : tree.nodes)
      if (node.merged_nodes == 0 && !node.is_insignificant)
        largest_change_ =
            std::max(largest_change_, std::abs(get_change(node.candidate, node.baseline)));
  }

  void begin_html() {
    out_ +=
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"generator\" content=\"ctprof\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
    append_markup(out_, title());
    out_ +=
        "</title>\n<style>body { margin: 0; } svg.flame { display: block; }</style>\n"
        "</head>\n<body>\n";
  }

  std::string title() const { return make_printable_short(style_->title, kMaxNameBytes); }

  void begin_part() {
    begin_element();
    out_ += "\" role=\"img\" aria-label=\"";
    append_markup(out_, title() + ": " + format_summary());
    out_ += "\" width=\"100%\" height=\"" + std::to_string(get_frames_height()) +
            "\"><svg class=\"frames\" width=\"100%\" height=\"" +
            std::to_string(get_frames_height()) + "\">\n";
  }

  void begin_element() {
    out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame";
    if (style_->is_waiting) out_ += " cold";
    if (style_->is_icicle) out_ += " icicle";
  }

  void begin_svg() {
    begin_element();
    out_ += "\" width=\"100%\" height=\"" + std::to_string(get_height()) + "\">\n<style>";
    append_markup(out_, kFlameCss);
    out_ += "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    out_ += "<svg class=\"frames\" y=\"" + std::to_string(kHeadHeight) +
            "\" width=\"100%\" height=\"" + std::to_string(get_frames_height()) + "\">\n";
  }

  // --- one frame

  std::string format_name(const FlameNode& node) const {
    if (node.merged_nodes > 0) return "[" + std::to_string(node.merged_nodes) + " small frames]";
    return make_printable_short(tree_->label(node).name, kMaxNameBytes);
  }

  void append_frame(const PlacedFrame& frame) {
    const FlameNode& node = tree_->nodes[frame.node];
    const double share =
        frame.node == 0 ? 1 : get_share(node.candidate.total, root().candidate.total);
    const int y = style_->is_icicle ? frame.depth : rows_ - 1 - frame.depth;
    const std::string shown_name = format_name(node);
    out_ += "<svg class=\"f " + get_colour_class(node) + "\" x=\"" +
            format_fixed(100 * get_share(frame.x, root().candidate.total), 4) + "%\" y=\"" +
            std::to_string(y * kRowHeight) + "\" width=\"" + format_fixed(100 * share, 4) +
            "%\" height=\"" + std::to_string(kRowHeight) + "\"><title>";
    append_markup(out_, shown_name);
    append_figures(node, share);
    out_ += "</title><rect width=\"100%\" height=\"17\"/>";
    if (share >= kMinTextShare) append_name(shown_name);
    out_ += "</svg>\n";
  }

  void append_name(std::string_view name) {
    out_ += "<text x=\"4\" y=\"13\">";
    append_markup(out_, name);
    out_ += "</text>";
  }

  void append_figures(const FlameNode& node, double share) {
    if (const std::string& module = tree_->label(node).module; !module.empty()) {
      out_ += '\n';
      append_markup(out_, make_printable_short(module, kMaxNameBytes));
    }
    out_ += '\n' + format_value(node.candidate.total) + ", " + format_percentage(share);
    if (node.candidate.self > 0) out_ += "; self " + format_value(node.candidate.self);
    if (!tree_->has_baseline) return;
    out_ += "; baseline " + format_value(scale_baseline(node.baseline.total));
    if (node.baseline.self > 0)
      out_ += ", self " + format_value(scale_baseline(node.baseline.self));
    if (node.baseline.total > 0) out_ += " (" + format_percent(get_total_change(node)) + ")";
    if (node.is_insignificant && node.candidate.self + node.baseline.self > 0)
      out_ += "; not significant";
  }

  double get_total_change(const FlameNode& node) const {
    return static_cast<double>(node.candidate.total) /
               (static_cast<double>(node.baseline.total) * tree_->baseline_scale) -
           1;
  }

  std::string get_colour_class(const FlameNode& node) const {
    // A merged node has only the candidate's figures; the baseline's are incomplete.
    if (tree_->has_baseline && node.merged_nodes == 0)
      return node.is_insignificant
                 ? "e"
                 : get_change_colour_class(get_change(node.candidate, node.baseline));
    const FlameLabel& label = tree_->label(node);
    // Neighbours differ slightly, and a name has the same shade everywhere.
    const int shade = std::accumulate(label.name.begin(), label.name.end(), 0,
                                      [](int sum, char c) { return (sum * 31 + c) & 0xffff; }) %
                      3;
    return std::string(1, get_kind_style(label).letter) + " a" + std::to_string(shade);
  }

  std::string get_change_colour_class(double change) const {
    const auto level = std::lround(kColourLevels * std::abs(change) / largest_change_);
    if (largest_change_ <= 0 || level == 0) return "e";
    return (change > 0 ? "more d" : "less d") + std::to_string(level);
  }

  // --- around the frames

  void append_line(int y, std::string_view kind, std::string_view text) {
    out_ += "<text x=\"4\" y=\"" + std::to_string(y) + "\" class=\"" + std::string(kind) + "\">";
    append_markup(out_, text);
    out_ += "</text>\n";
  }

  // The head comes after the frames in the file, so that it is drawn above them while scrolling.
  void append_head() {
    out_ += "<g class=\"head\">\n<rect class=\"paper\" width=\"100%\" height=\"" +
            std::to_string(kHeadHeight - 2) + "\"/>\n";
    append_line(20, "title", title());
    append_line(38, "quiet", format_summary());
    append_legend();
    out_ += "</g>\n";
  }

  std::string format_summary() const {
    std::string text = format_value(root().candidate.total);
    if (tree_->has_baseline) {
      text += ", baseline " + format_value(scale_baseline(root().baseline.total));
      if (root().baseline.total > 0) text += " (" + format_percent(get_total_change(root())) + ")";
      if (tree_->baseline_scale != 1) text += " scaled to the same time";
    }
    if (tree_->small_nodes > 0)
      text += ", " + std::to_string(tree_->small_nodes) + " frames too small to draw";
    return text;
  }

  void append_legend() {
    out_ += "<text x=\"4\" y=\"57\" class=\"legend\">";
    if (tree_->has_baseline) {
      for (const auto& [kind, word] : {std::pair{"more", "more"},
                                       {"less", "less"},
                                       {"e", tree_->is_tested ? "not significant" : "unchanged"}})
        append_swatch(kind, word);
    } else {
      std::array<bool, kKinds.size()> seen{};
      for (const FlameNode& node : tree_->nodes)
        seen[static_cast<std::size_t>(tree_->label(node).kind)] = true;
      for (std::size_t kind = 0; kind < seen.size(); ++kind)
        if (seen[kind]) append_swatch(std::string(1, kKinds[kind].letter), kKinds[kind].word);
    }
    out_ += "</text>\n";
  }

  void append_swatch(const std::string& kind, std::string_view word) {
    out_ += "<tspan class=\"l" + kind + "\">\u25a0</tspan> " + std::string(word) + "  ";
  }

  void append_list() {
    if (baseline_only_.empty()) return;
    out_ += "<svg class=\"below\" y=\"" + std::to_string(kHeadHeight + get_frames_height()) +
            "\" width=\"100%\" height=\"" + std::to_string(get_list_height()) + "\">\n";
    int y = kRowHeight * 2;
    append_line(y, "title", "Only in the baseline");
    const std::size_t shown = std::min(baseline_only_.size(), kMaxListed);
    for (std::size_t at = 0; at < shown; ++at)
      append_line(y += kRowHeight, "gone", format_baseline_only(baseline_only_[at]));
    if (baseline_only_.size() > shown)
      append_line(y += kRowHeight, "quiet",
                  "and " + std::to_string(baseline_only_.size() - shown) + " smaller");
    out_ += "</svg>\n";
  }

  // Returns the figure and the path to the frame; a long path is shortened in the middle.
  std::string format_baseline_only(std::uint32_t number) const {
    std::string path;
    for (const std::string_view name : get_path(*full_tree_, number))
      path += (path.empty() ? "" : " > ") + make_printable_short(name, kMaxNameBytes / 4);
    return format_value(scale_baseline(full_tree_->nodes[number].baseline.total)) + "  " +
           shorten(path, kMaxNameBytes);
  }

  const FlameTree* full_tree_;
  const FlameTree* tree_;
  const FlameStyle* style_;
  std::vector<PlacedFrame> frames_;
  std::vector<std::uint32_t> baseline_only_;  // nodes that only the baseline has
  int rows_ = 1;
  double largest_change_ = 0;
  std::string out_;
};

}  // namespace

std::string make_flame_element(const FlameTree& tree, const FlameStyle& style, FlameLimits limits) {
  return Page(tree, merge_small_nodes(tree, limits.max_frames, limits.min_share), style)
      .make_element();
}

std::string_view get_flame_style() { return kFlameCss; }

std::string make_flame_page(const FlameTree& tree, const FlameStyle& style) {
  std::string page;
  for (std::size_t most = kMaxFrames; page.empty() || page.size() > kMaxFlamePageSize; most /= 2)
    page = Page(tree, merge_small_nodes(tree, most, kMinShare), style).make_page();
  return page;
}

}  // namespace ctprof
