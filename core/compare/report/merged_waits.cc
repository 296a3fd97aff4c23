#include "core/compare/report/merged_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/stacks/kernel_waits.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kKernelModule = "[kernel]";

double total_magnitude(std::span<const double> sides) {
  return std::accumulate(sides.begin(), sides.end(), 0.0,
                         [](double sum, double side) { return sum + std::abs(side); });
}

class WaitFolder {
 public:
  WaitFolder(const CommonStacks& common, std::span<const std::vector<LongWait>> long_waits)
      : common_(&common), long_waits_(long_waits.size()) {
    for (std::size_t side = 0; side < long_waits.size(); ++side)
      for (const LongWait& one : long_waits[side]) long_waits_[side][one.stack] += one.weight;
  }

  void add(const WaitStack& one) {
    auto [word, stack] = split_kernel_frames(one.stack);
    MergedWait& wait = waits_[{stack, word}];
    wait.busy_weights.resize(one.weights.size());
    wait.idle_weights.resize(one.weights.size());
    wait.call = word;
    wait.stack = stack;
    for (std::size_t side = 0; side < one.weights.size(); ++side) {
      const double all = std::isnan(one.weights[side]) ? 0 : one.weights[side];
      const bool is_idle = is_idle_call(word) || is_of_kernel(one.stack);
      const double idle = is_idle ? all : std::min(all, long_wait_weight(side, one.stack));
      wait.idle_weights[side] += idle;
      wait.busy_weights[side] += all - idle;
    }
  }

  std::vector<MergedWait> sort_waits() {
    std::vector<MergedWait> all;
    for (auto& [key, wait] : waits_) all.push_back(std::move(wait));
    std::ranges::stable_sort(all, std::ranges::greater{}, [](const MergedWait& wait) {
      return std::pair(total_magnitude(wait.busy_weights), total_magnitude(wait.idle_weights));
    });
    return all;
  }

 private:
  // Returns the wait and the stack without kernel frames. The wait is the outermost system call, or
  // else the outermost function that is not entry code.
  std::pair<std::string, std::uint32_t> split_kernel_frames(std::uint32_t stack) const {
    std::string word, outermost;
    std::uint32_t at = stack;
    for (; at != CommonStacks::kEmptyStack; at = common_->caller(at)) {
      const StackFunction& function = common_->functions()[common_->function(at)];
      if (function.module != kKernelModule) break;
      if (std::string found = get_kernel_word(function.name); !found.empty())
        word = std::move(found);
      if (!function.name.empty() && !is_entry_code(function.name)) outermost = function.name;
    }
    if (at == CommonStacks::kEmptyStack || at == stack) return {"", stack};
    return {word.empty() ? outermost : word, at};
  }

  // Returns whether the stack contains only kernel frames, so that it belongs to a kernel thread.
  bool is_of_kernel(std::uint32_t stack) const {
    if (stack == CommonStacks::kEmptyStack) return false;
    for (std::uint32_t at = stack; at != CommonStacks::kEmptyStack; at = common_->caller(at))
      if (common_->functions()[common_->function(at)].module != kKernelModule) return false;
    return true;
  }

  double long_wait_weight(std::size_t side, std::uint32_t stack) const {
    if (side >= long_waits_.size()) return 0;
    const auto found = long_waits_[side].find(stack);
    return found == long_waits_[side].end() ? 0 : found->second;
  }

  const CommonStacks* common_;
  // By side, the summed weight of each stack.
  std::vector<std::unordered_map<std::uint32_t, double>> long_waits_;
  std::map<std::pair<std::uint32_t, std::string>, MergedWait> waits_;
};

}  // namespace

std::vector<MergedWait> merge_waits(const CommonStacks& common, std::span<const WaitStack> stacks,
                                    std::span<const std::vector<LongWait>> long_waits) {
  WaitFolder folder(common, long_waits);
  for (const WaitStack& one : stacks) folder.add(one);
  return folder.sort_waits();
}

}  // namespace ctprof
