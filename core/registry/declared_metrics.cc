#include "core/registry/declared_metrics.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {
namespace {

std::string_view words(const char* given) { return given ? given : std::string_view(); }

// REQUIRES: `a` was checked.
bool same_headline(const ctprof_headline* a, const ctprof_headline* b) {
  if (!a || !b) return a == b;
  return a->size == b->size && words(a->label) == words(b->label) && a->order == b->order &&
         a->shown == b->shown && a->flags == b->flags && a->floor == b->floor;
}

// Whether `define` would make equal definitions of both. REQUIRES: `a` was checked.
bool same_words(const ctprof_metric& a, const ctprof_metric& b) {
  return a.entity == b.entity && a.storage == b.storage && a.flags == b.flags &&
         words(a.newtype) == words(b.newtype) && words(a.rule) == words(b.rule) &&
         words(a.role) == words(b.role) && same_headline(a.headline, b.headline) &&
         std::all_of(std::begin(kMetricTexts), std::end(kMetricTexts), [&](const MetricText& each) {
           return words(a.*each.given) == words(b.*each.given);
         });
}

}  // namespace

void DeclaredMetrics::add(const ctprof_metric& given, const SharedMetric& made) {
  all_.try_emplace(given.name, given, made);
}

const SharedMetric* DeclaredMetrics::find(const ctprof_metric& given) const {
  const auto found = all_.find(words(given.name));
  if (found == all_.end() || !same_words(found->second.first, given)) return nullptr;
  return &found->second.second;
}

}  // namespace ctprof
