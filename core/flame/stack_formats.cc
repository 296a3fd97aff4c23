#include "core/flame/stack_formats.hpp"

#include <array>
#include <map>
#include <utility>

namespace ctprof {
namespace {

constexpr std::array kFormats{
    StackFormat{"folded", "flamegraph.pl, inferno", "", write_folded},
    StackFormat{"pprof", "go tool pprof", "\x1f\x8b", write_pprof},
    StackFormat{"speedscope", "speedscope.app", "www.speedscope.app", write_speedscope},
    StackFormat{"perfetto", "ui.perfetto.dev",
                "\x06"
                "ctprof",
                write_perfetto},
};

// Recorders take no deeper stacks.
constexpr std::size_t kMaxDepth = 1024;

}  // namespace

std::span<const StackFormat> get_stack_formats() { return kFormats; }

std::vector<std::uint32_t> get_frames(const StackTable& table, std::uint64_t stack) {
  std::vector<std::uint32_t> frames;
  auto node = static_cast<std::uint32_t>(stack);
  for (; node != StackTable::kTop && frames.size() < kMaxDepth; node = table.nodes()[node].parent)
    frames.push_back(table.nodes()[node].frame);
  if (node != StackTable::kTop) frames.push_back(StackTable::kTruncated);
  return frames;
}

std::vector<StackWeights> collect_rows(const OwnedStacks& owned) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> found;
  for (std::size_t value = 0; value < owned.weights.size(); ++value) {
    for (const ctprof_stack& stack : owned.weights[value]) {
      auto& weights = found[stack.stack];
      weights.resize(owned.weights.size());
      weights[value] += stack.weight;
    }
  }
  std::vector<StackWeights> rows;
  for (auto& [stack, weights] : found) rows.push_back({stack, std::move(weights)});
  return rows;
}

}  // namespace ctprof
