#include "core/flame/flame_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/number.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace {

constexpr std::array kKindStyles{FrameKindStyle{'g', "threads"}, FrameKindStyle{'n', "native"},
                                 FrameKindStyle{'k', "kernel"},  FrameKindStyle{'j', "JIT"},
                                 FrameKindStyle{'u', "guessed"}, FrameKindStyle{'t', "truncated"},
                                 FrameKindStyle{'s', "small"}};

std::uint64_t round_to_u64(double value) {
  constexpr double kTwoTo64 = 18446744073709551616.0;  // 2^64
  return value >= kTwoTo64 ? UINT64_MAX
                           : static_cast<std::uint64_t>(std::llround(std::max(value, 0.0)));
}

}  // namespace

std::span<const FrameKindStyle> get_frame_kind_styles() { return kKindStyles; }

double get_share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string FlameFigureText::format_value(std::uint64_t weight) const {
  return format_scaled(make_number(weight), unit_);
}

std::string FlameFigureText::format_baseline(std::uint64_t weight) const {
  return format_value(round_to_u64(static_cast<double>(weight) * tree_->baseline_scale));
}

std::string FlameFigureText::format_change(const FlameNode& node) const {
  const double baseline = static_cast<double>(node.baseline.total) * tree_->baseline_scale;
  return format_percent(static_cast<double>(node.candidate.total) / baseline - 1);
}

std::string FlameFigureText::format_name(const FlameNode& node) const {
  if (node.merged_nodes > 0) return "[" + std::to_string(node.merged_nodes) + " small frames]";
  return make_printable_short(tree_->label(node).name, kMaxFlameNameBytes);
}

double FlameFigureText::get_self_change(const FlameNode& node) const {
  return static_cast<double>(node.candidate.self) -
         static_cast<double>(node.baseline.self) * tree_->baseline_scale;
}

}  // namespace ctprof
