#include "core/compare/report/folded_waits.hpp"

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

double sum_of(std::span<const double> sides) {
  return std::accumulate(sides.begin(), sides.end(), 0.0,
                         [](double sum, double side) { return sum + std::abs(side); });
}

class WaitFolder {
 public:
  WaitFolder(const StackBook& book, std::span<const std::vector<LongWait>> long_waits)
      : book_(&book), long_waits_(long_waits.size()) {
    for (std::size_t side = 0; side < long_waits.size(); ++side)
      for (const LongWait& one : long_waits[side]) long_waits_[side][one.stack] += one.weight;
  }

  void add(const WaitStack& one) {
    auto [word, stack] = without_kernel(one.stack);
    FoldedWait& wait = found_[{stack, word}];
    wait.busy.resize(one.sides.size());
    wait.idle.resize(one.sides.size());
    wait.word = word;
    wait.stack = stack;
    for (std::size_t side = 0; side < one.sides.size(); ++side) {
      const double all = std::isnan(one.sides[side]) ? 0 : one.sides[side];
      const bool is_idle = is_idle_call(word) || is_of_kernel(one.stack);
      const double idle = is_idle ? all : std::min(all, long_wait(side, one.stack));
      wait.idle[side] += idle;
      wait.busy[side] += all - idle;
    }
  }

  std::vector<FoldedWait> in_order() {
    std::vector<FoldedWait> all;
    for (auto& [key, wait] : found_) all.push_back(std::move(wait));
    std::ranges::stable_sort(all, std::ranges::greater{}, [](const FoldedWait& wait) {
      return std::pair(sum_of(wait.busy), sum_of(wait.idle));
    });
    return all;
  }

 private:
  // Returns the wait and the stack without kernel frames. The wait is the outermost system call, or
  // else the outermost function that is no entry code.
  std::pair<std::string, std::uint32_t> without_kernel(std::uint32_t stack) const {
    std::string word, outermost;
    std::uint32_t at = stack;
    for (; at != StackBook::kEmpty; at = book_->caller(at)) {
      const StackFunction& function = book_->functions()[book_->function(at)];
      if (function.module != kKernelModule) break;
      if (std::string found = kernel_word(function.name); !found.empty()) word = std::move(found);
      if (!function.name.empty() && !is_entry_code(function.name)) outermost = function.name;
    }
    if (at == StackBook::kEmpty || at == stack) return {"", stack};
    return {word.empty() ? outermost : word, at};
  }

  // Returns whether the stack contains only kernel frames, so that it belongs to a kernel thread.
  bool is_of_kernel(std::uint32_t stack) const {
    if (stack == StackBook::kEmpty) return false;
    for (std::uint32_t at = stack; at != StackBook::kEmpty; at = book_->caller(at))
      if (book_->functions()[book_->function(at)].module != kKernelModule) return false;
    return true;
  }

  double long_wait(std::size_t side, std::uint32_t stack) const {
    if (side >= long_waits_.size()) return 0;
    const auto found = long_waits_[side].find(stack);
    return found == long_waits_[side].end() ? 0 : found->second;
  }

  const StackBook* book_;
  // By side, the summed weight of each stack.
  std::vector<std::unordered_map<std::uint32_t, double>> long_waits_;
  std::map<std::pair<std::uint32_t, std::string>, FoldedWait> found_;
};

}  // namespace

std::vector<FoldedWait> fold_waits(const StackBook& book, std::span<const WaitStack> stacks,
                                   std::span<const std::vector<LongWait>> long_waits) {
  WaitFolder folder(book, long_waits);
  for (const WaitStack& one : stacks) folder.add(one);
  return folder.in_order();
}

}  // namespace ctprof
