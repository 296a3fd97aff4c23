#include "core/compare/report/screen_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace ctprof {
namespace {

// The cgroup of a thread that exited before it was read is unknown.
bool is_below(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty()) return false;
  if (ancestor == "/") return path.size() > 1 && path.starts_with('/');
  return path.size() > ancestor.size() && path.starts_with(ancestor) &&
         path[ancestor.size()] == '/';
}

// Compares paths so that "/a/b" follows "/a" and precedes "/a-b".
bool path_precedes(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, [](char x, char y) {
    const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
    return rank(x) < rank(y);
  });
}

class CgroupTree {
 public:
  CgroupTree(std::vector<ScreenRow>& rows, const Grouping& grouping) : rows_(&rows) {
    std::ranges::sort(rows, path_precedes, [&](const ScreenRow& row) {
      return std::string_view(grouping.names[row.group]);
    });
    find_parents(grouping);
    find_children();
  }

  std::vector<ScreenRow> rows_in_tree_order() {
    std::vector<ScreenRow> ordered;
    std::vector<std::size_t> next(roots_.rbegin(), roots_.rend());
    while (!next.empty()) {
      const std::size_t at = next.back();
      next.pop_back();
      ordered.push_back(std::move((*rows_)[at]));
      next.insert(next.end(), children_[at].rbegin(), children_[at].rend());
    }
    return ordered;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void find_parents(const Grouping& grouping) {
    std::vector<std::size_t> ancestors;  // the previous row and its ancestors
    for (std::size_t at = 0; at < rows_->size(); ++at) {
      ScreenRow& row = (*rows_)[at];
      const std::string_view path = grouping.names[row.group];
      const auto path_of = [&](std::size_t other) {
        return std::string_view(grouping.names[(*rows_)[other].group]);
      };
      while (!ancestors.empty() && !is_below(path, path_of(ancestors.back()))) ancestors.pop_back();
      parents_.push_back(ancestors.empty() ? kNone : ancestors.back());
      row.depth = ancestors.size();
      if (!ancestors.empty()) row.parent_group = (*rows_)[ancestors.back()].group;
      ancestors.push_back(at);
    }
  }

  // Children follow their parents, so in backward order every subtree is complete.
  void find_children() {
    std::vector<double> subtree_scores;
    for (const ScreenRow& row : *rows_) subtree_scores.push_back(row.score);
    for (std::size_t at = rows_->size(); at-- > 0;)
      if (parents_[at] != kNone)
        subtree_scores[parents_[at]] = std::max(subtree_scores[parents_[at]], subtree_scores[at]);
    children_.resize(rows_->size());
    for (std::size_t at = 0; at < rows_->size(); ++at)
      (parents_[at] == kNone ? roots_ : children_[parents_[at]]).push_back(at);
    const auto by_score = [&](std::vector<std::size_t>& siblings) {
      std::ranges::stable_sort(siblings, std::ranges::greater{},
                               [&](std::size_t at) { return subtree_scores[at]; });
    };
    by_score(roots_);
    std::ranges::for_each(children_, by_score);
  }

  std::vector<ScreenRow>* rows_;
  std::vector<std::size_t> parents_, roots_;
  std::vector<std::vector<std::size_t>> children_;
};

}  // namespace

void arrange_as_tree(std::vector<ScreenRow>& rows, const Grouping& grouping) {
  rows = CgroupTree(rows, grouping).rows_in_tree_order();
}

}  // namespace ctprof
