#include "core/flame/flame_page.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/markup.hpp"
#include "core/flame/flame_figures.hpp"
#include "core/flame/flame_files.hpp"
#include "core/flame/flame_frames.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxFrames = 8'000;
// A tenth of a pixel on a wide screen. A narrower frame is invisible even after zooming.
constexpr double kMinShare = 1.0 / 25'000;
constexpr std::size_t kMaxListed = 40;
constexpr int kHeadHeight = 68;

class Page {
 public:
  Page(const FlameTree& full_tree, const FlameTree& drawn_tree, const FlameStyle& style)
      : full_tree_(&full_tree),
        tree_(&drawn_tree),
        style_(&style),
        figures_(drawn_tree, style.unit),
        frames_(drawn_tree, style.unit, style.is_icicle) {
    if (full_tree.has_baseline) baseline_only_ = find_baseline_only(full_tree);
  }

  // Returns the frames for another page, which contains the style; without head, list and script.
  std::string make_element() {
    if (tree_->has_baseline) frames_.find_largest_change(*full_tree_);
    begin_part();
    frames_.append_to(out_);
    out_ += "</svg></svg>\n";
    return std::move(out_);
  }

  std::string make_page() {
    if (style_->format == FlameStyle::Format::Html) begin_html();
    begin_svg();
    frames_.append_to(out_);
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
  int get_list_height() const {
    const std::size_t lines = std::min(baseline_only_.size(), kMaxListed + 1);
    return baseline_only_.empty() ? 0 : static_cast<int>(lines + 2) * kFlameRowHeight;
  }
  int get_height() const {
    return kHeadHeight + frames_.get_height() + get_list_height() + kFlameRowHeight;
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

  std::string title() const { return make_printable_short(style_->title, kMaxFlameNameBytes); }

  void begin_part() {
    begin_element();
    out_ += "\" role=\"img\" aria-label=\"";
    append_markup(out_, title() + ": " + format_summary());
    out_ += "\" width=\"100%\" height=\"" + std::to_string(frames_.get_height()) +
            "\"><svg class=\"frames\" width=\"100%\" height=\"" +
            std::to_string(frames_.get_height()) + "\">\n";
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
            "\" width=\"100%\" height=\"" + std::to_string(frames_.get_height()) + "\">\n";
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
    std::string text = figures_.format_value(tree_->root().candidate.total);
    if (tree_->has_baseline) {
      text += ", baseline " + figures_.format_baseline(tree_->root().baseline.total);
      if (tree_->root().baseline.total > 0)
        text += " (" + figures_.format_change(tree_->root()) + ")";
      if (tree_->is_by_share)
        text += "; each group's baseline is scaled to the same total";
      else if (tree_->baseline_scale != 1)
        text += " scaled to the same time";
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
      const auto styles = get_frame_kind_styles();
      std::vector<bool> seen(styles.size());
      for (const FlameNode& node : tree_->nodes)
        seen[static_cast<std::size_t>(tree_->label(node).kind)] = true;
      for (std::size_t kind = 0; kind < seen.size(); ++kind)
        if (seen[kind]) append_swatch(std::string(1, styles[kind].letter), styles[kind].word);
    }
    out_ += "</text>\n";
  }

  void append_swatch(const std::string& kind, std::string_view word) {
    out_ += "<tspan class=\"l" + kind + "\">\u25a0</tspan> " + std::string(word) + "  ";
  }

  void append_list() {
    if (baseline_only_.empty()) return;
    out_ += "<svg class=\"below\" y=\"" + std::to_string(kHeadHeight + frames_.get_height()) +
            "\" width=\"100%\" height=\"" + std::to_string(get_list_height()) + "\">\n";
    int y = kFlameRowHeight * 2;
    append_line(y, "title", "Only in the baseline");
    const std::size_t shown = std::min(baseline_only_.size(), kMaxListed);
    for (std::size_t at = 0; at < shown; ++at)
      append_line(y += kFlameRowHeight, "gone", format_baseline_only(baseline_only_[at]));
    if (baseline_only_.size() > shown)
      append_line(y += kFlameRowHeight, "quiet",
                  "and " + std::to_string(baseline_only_.size() - shown) + " smaller");
    out_ += "</svg>\n";
  }

  // Returns the figure and the path to the frame; a long path is shortened in the middle.
  std::string format_baseline_only(std::uint32_t number) const {
    std::string path;
    for (const std::string_view name : get_path(*full_tree_, number))
      path += (path.empty() ? "" : " > ") + make_printable_short(name, kMaxFlameNameBytes / 4);
    return figures_.format_baseline(full_tree_->nodes[number].baseline.total) + "  " +
           shorten(path, kMaxFlameNameBytes);
  }

  const FlameTree* full_tree_;
  const FlameTree* tree_;
  const FlameStyle* style_;
  FlameFigureText figures_;
  FlameFrames frames_;
  std::vector<std::uint32_t> baseline_only_;  // nodes that only the baseline has
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
