#include "core/compare/report/screen_order.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/number.hpp"

namespace ctprof {
namespace {

std::optional<std::size_t> find_column(const Screen& screen, std::string_view label) {
  for (std::size_t at = 0; at < screen.columns.size(); ++at)
    if (screen.columns[at].headline.label == label) return at;
  return {};
}

// Larger numbers come first.
double rank_by_threads(const ScreenRow& row) {
  const double last = row.threads.back().total();
  return row.threads.size() == 1 ? last : last - row.threads.front().total();
}

double rank_by(const SortKey& key, const Screen& screen, const Spec& spec, const ScreenRow& row) {
  if (key.by == SortKey::Criterion::Movers) return row.score;
  if (is_group_column_name(key.metric, spec)) return row.group;  // numbered in the order of names
  if (key.metric == kThreadsColumn) return rank_by_threads(row);
  const std::size_t at = *find_column(screen, key.metric);
  const auto figures = screen.figures(row, at);
  return figures.size() == 1 ? figures[0].value : ordering_value(screen.columns[at], figures);
}

// Returns whether `a` precedes `b`; NaN is last in both directions.
bool precedes(double a, double b, bool ascending) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return ascending ? a < b : a > b;
}

}  // namespace

bool sort_keys_are_columns(const Spec& spec, const Screen& screen) {
  return !spec.sort.empty() && std::ranges::all_of(spec.sort, [&](const SortKey& key) {
    if (key.by == SortKey::Criterion::Movers) return key.metric == kMovedColumn;
    return key.by == SortKey::Criterion::Metric &&
           (is_group_column_name(key.metric, spec) || key.metric == kThreadsColumn ||
            find_column(screen, key.metric));
  });
}

void sort_rows(Screen& screen, const Spec& spec) {
  for (auto key = spec.sort.rbegin(); key != spec.sort.rend(); ++key) {
    const bool is_ascending = is_group_column_name(key->metric, spec) != key->ascending;
    std::ranges::stable_sort(screen.rows, [&](const ScreenRow& a, const ScreenRow& b) {
      return precedes(rank_by(*key, screen, spec, a), rank_by(*key, screen, spec, b), is_ascending);
    });
  }
}

}  // namespace ctprof
