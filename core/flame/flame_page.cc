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

constexpr std::size_t kMostFrames = 8'000;
// A tenth of a pixel of a wide screen: the limit of what zooming makes visible.
constexpr double kLeastShare = 1.0 / 25'000;
constexpr double kLeastText = 0.008;    // a share that is wide enough for a few letters
constexpr std::size_t kMostName = 256;  // bytes
constexpr std::size_t kMostListed = 40;

constexpr int kRow = 18;  // as in flame.js
constexpr int kHead = 68;
constexpr int kLevels = 8;                      // shades of red and of blue, as in flame.css
constexpr double kLeastFullColour = 1.0 / 100;  // minimum for the full colour

// --- text
// -----------------------------------------------------------------------------------------------

std::string fixed(double value, int digits) {
  std::array<char, 64> text;
  const auto end =
      std::to_chars(text.begin(), text.end(), value, std::chars_format::fixed, digits).ptr;
  return {text.data(), end};
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percentage(double share) { return fixed(100 * share, 2) + " %"; }

std::uint64_t rounded(double value) {
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  return value >= kBeyond ? UINT64_MAX
                          : static_cast<std::uint64_t>(std::llround(std::max(value, 0.0)));
}

struct Kind {
  char letter;  // its class in flame.css
  std::string_view word;
};

// Indexed by FrameKind.
constexpr std::array kKinds{Kind{'g', "threads"}, Kind{'n', "native"},  Kind{'k', "kernel"},
                            Kind{'j', "JIT"},     Kind{'u', "guessed"}, Kind{'t', "truncated"},
                            Kind{'s', "small"}};

const Kind& kind_of(const FlameLabel& label) {
  return kKinds[static_cast<std::size_t>(label.kind)];
}

// --- placement of frames
// ---------------------------------------------------------------------------------

struct Placed {
  std::uint32_t node = 0;
  int depth = 0;
  std::uint64_t x = 0;  // in units of weight, from the left edge
};

// Returns the nodes with children of one parent ordered by name; merged nodes come last.
std::vector<std::uint32_t> in_order(const FlameTree& tree) {
  std::vector<std::uint32_t> order(tree.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const FlameNode &one = tree.nodes[a], &other = tree.nodes[b];
    if (one.parent != other.parent) return one.parent < other.parent;
    if ((one.merged == 0) != (other.merged == 0)) return one.merged == 0;
    const int names = tree.label(one).name.compare(tree.label(other).name);
    return names != 0 ? names < 0 : a < b;
  });
  return order;
}

// Returns the frames, each before its children, and children from left to right.
std::vector<Placed> placed(const FlameTree& tree) {
  std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
  for (const std::uint32_t node : in_order(tree))
    if (node != 0) children[tree.nodes[node].parent].push_back(node);
  std::vector<Placed> frames, waiting{{}};
  while (!waiting.empty()) {
    const Placed frame = waiting.back();
    waiting.pop_back();
    frames.push_back(frame);
    const std::size_t first = waiting.size();
    std::uint64_t x = frame.x;
    for (const std::uint32_t child : children[frame.node]) {
      waiting.push_back({child, frame.depth + 1, x});
      x += tree.nodes[child].now.total;
    }
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
  }
  return frames;
}

// --- the page
// -------------------------------------------------------------------------------------------

class Page {
 public:
  Page(const FlameTree& whole, const FlameTree& drawn, const FlameStyle& style)
      : whole_(&whole), tree_(&drawn), style_(&style), frames_(placed(drawn)) {
    for (const Placed& frame : frames_) rows_ = std::max(rows_, frame.depth + 1);
    if (whole.has_base) listed_ = only_in_base(whole);
    if (tree_->has_base) find_largest_change(*tree_);
  }

  // Returns the frames for another page, which contains the style; without head, list and script.
  std::string part() {
    if (tree_->has_base) find_largest_change(*whole_);
    begin_part();
    for (const Placed& frame : frames_) append_frame(frame);
    out_ += "</svg></svg>\n";
    return std::move(out_);
  }

  std::string text() {
    if (style_->form == FlameStyle::Form::Html) begin_html();
    begin_svg();
    for (const Placed& frame : frames_) append_frame(frame);
    out_ += "</svg>\n";
    append_list();
    append_head();
    out_ += "<script>";
    append_markup(out_, kFlameJs);
    out_ += "</script>\n</svg>\n";
    if (style_->form == FlameStyle::Form::Html) out_ += "</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  int frames_height() const { return rows_ * kRow; }
  int list_height() const {
    const std::size_t lines = std::min(listed_.size(), kMostListed + 1);
    return listed_.empty() ? 0 : static_cast<int>(lines + 2) * kRow;
  }
  int height() const { return kHead + frames_height() + list_height() + kRow; }
  const FlameNode& root() const { return tree_->root(); }

  std::string value(std::uint64_t weight) const { return scaled(number_of(weight), style_->unit); }
  std::uint64_t base(std::uint64_t weight) const {
    return rounded(static_cast<double>(weight) * tree_->base_scale);
  }
  double change(const FlameFigures& now, const FlameFigures& before) const {
    return static_cast<double>(now.self) - static_cast<double>(before.self) * tree_->base_scale;
  }

  void find_largest_change(const FlameTree& tree) {
    largest_change_ = static_cast<double>(root().now.total) * kLeastFullColour;
    for (const FlameNode& node : tree.nodes)
      if (node.merged == 0 && !node.unproven)
        largest_change_ = std::max(largest_change_, std::abs(change(node.now, node.base)));
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

  std::string title() const { return told_name(style_->title, kMostName); }

  void begin_part() {
    begin_element();
    out_ += "\" role=\"img\" aria-label=\"";
    append_markup(out_, title() + ": " + summary());
    out_ += "\" width=\"100%\" height=\"" + std::to_string(frames_height()) +
            "\"><svg class=\"frames\" width=\"100%\" height=\"" + std::to_string(frames_height()) +
            "\">\n";
  }

  void begin_element() {
    out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame";
    if (style_->waiting) out_ += " cold";
    if (style_->icicle) out_ += " icicle";
  }

  void begin_svg() {
    begin_element();
    out_ += "\" width=\"100%\" height=\"" + std::to_string(height()) + "\">\n<style>";
    append_markup(out_, kFlameCss);
    out_ += "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    out_ += "<svg class=\"frames\" y=\"" + std::to_string(kHead) + "\" width=\"100%\" height=\"" +
            std::to_string(frames_height()) + "\">\n";
  }

  // --- one frame

  std::string name(const FlameNode& node) const {
    if (node.merged > 0) return "[" + std::to_string(node.merged) + " small frames]";
    return told_name(tree_->label(node).name, kMostName);
  }

  void append_frame(const Placed& frame) {
    const FlameNode& node = tree_->nodes[frame.node];
    const double share = frame.node == 0 ? 1 : share_of(node.now.total, root().now.total);
    const int y = style_->icicle ? frame.depth : rows_ - 1 - frame.depth;
    const std::string shown = name(node);
    out_ += "<svg class=\"f " + colour(node) + "\" x=\"" +
            fixed(100 * share_of(frame.x, root().now.total), 4) + "%\" y=\"" +
            std::to_string(y * kRow) + "\" width=\"" + fixed(100 * share, 4) + "%\" height=\"" +
            std::to_string(kRow) + "\"><title>";
    append_markup(out_, shown);
    append_figures(node, share);
    out_ += "</title><rect width=\"100%\" height=\"17\"/>";
    if (share >= kLeastText) append_name(shown);
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
      append_markup(out_, told_name(module, kMostName));
    }
    out_ += '\n' + value(node.now.total) + ", " + percentage(share);
    if (node.now.self > 0) out_ += "; self " + value(node.now.self);
    if (!tree_->has_base) return;
    out_ += "; baseline " + value(base(node.base.total));
    if (node.base.self > 0) out_ += ", self " + value(base(node.base.self));
    if (node.base.total > 0) out_ += " (" + percent(total_change(node)) + ")";
    if (node.unproven && node.now.self + node.base.self > 0) out_ += "; not significant";
  }

  double total_change(const FlameNode& node) const {
    return static_cast<double>(node.now.total) /
               (static_cast<double>(node.base.total) * tree_->base_scale) -
           1;
  }

  std::string colour(const FlameNode& node) const {
    // A merged node has only the candidate's figures; the baseline's are incomplete.
    if (tree_->has_base && node.merged == 0)
      return node.unproven ? "e" : colour_of_change(change(node.now, node.base));
    const FlameLabel& label = tree_->label(node);
    // Neighbours differ slightly, and a name has the same shade everywhere.
    const int shade = std::accumulate(label.name.begin(), label.name.end(), 0,
                                      [](int sum, char c) { return (sum * 31 + c) & 0xffff; }) %
                      3;
    return std::string(1, kind_of(label).letter) + " a" + std::to_string(shade);
  }

  std::string colour_of_change(double change) const {
    const auto level = std::lround(kLevels * std::abs(change) / largest_change_);
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
            std::to_string(kHead - 2) + "\"/>\n";
    append_line(20, "title", title());
    append_line(38, "quiet", summary());
    append_legend();
    out_ += "</g>\n";
  }

  std::string summary() const {
    std::string text = value(root().now.total);
    if (tree_->has_base) {
      text += ", baseline " + value(base(root().base.total));
      if (root().base.total > 0) text += " (" + percent(total_change(root())) + ")";
      if (tree_->base_scale != 1) text += " scaled to the same time";
    }
    if (tree_->small > 0) text += ", " + std::to_string(tree_->small) + " frames too small to draw";
    return text;
  }

  void append_legend() {
    out_ += "<text x=\"4\" y=\"57\" class=\"legend\">";
    if (tree_->has_base) {
      for (const auto& [kind, word] : {std::pair{"more", "more"},
                                       {"less", "less"},
                                       {"e", tree_->judged ? "not significant" : "unchanged"}})
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
    if (listed_.empty()) return;
    out_ += "<svg class=\"below\" y=\"" + std::to_string(kHead + frames_height()) +
            "\" width=\"100%\" height=\"" + std::to_string(list_height()) + "\">\n";
    int y = kRow * 2;
    append_line(y, "title", "Only in the baseline");
    const std::size_t shown = std::min(listed_.size(), kMostListed);
    for (std::size_t at = 0; at < shown; ++at) append_line(y += kRow, "gone", gone(listed_[at]));
    if (listed_.size() > shown)
      append_line(y += kRow, "quiet", "and " + std::to_string(listed_.size() - shown) + " smaller");
    out_ += "</svg>\n";
  }

  // Returns the figure and the path to the frame; a long path is shortened in the middle.
  std::string gone(std::uint32_t number) const {
    std::string path;
    for (const std::string_view name : path_to(*whole_, number))
      path += (path.empty() ? "" : " > ") + told_name(name, kMostName / 4);
    return value(base(whole_->nodes[number].base.total)) + "  " + shortened(path, kMostName);
  }

  const FlameTree* whole_;
  const FlameTree* tree_;
  const FlameStyle* style_;
  std::vector<Placed> frames_;
  std::vector<std::uint32_t> listed_;  // nodes that only the baseline has
  int rows_ = 1;
  double largest_change_ = 0;
  std::string out_;
};

}  // namespace

std::string flame_part(const FlameTree& tree, const FlameStyle& style, FlamePart part) {
  return Page(tree, without_small(tree, part.most_frames, part.least_share), style).part();
}

std::string_view flame_style() { return kFlameCss; }

std::string flame_page(const FlameTree& tree, const FlameStyle& style) {
  std::string page;
  for (std::size_t most = kMostFrames; page.empty() || page.size() > kMostFlamePage; most /= 2)
    page = Page(tree, without_small(tree, most, kLeastShare), style).text();
  return page;
}

}  // namespace ctprof
