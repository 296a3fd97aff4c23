#include "core/registry/declared_metrics.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {
namespace {

std::string_view text_or_empty(const char* text) { return text ? text : std::string_view(); }

// REQUIRES: `a` was checked.
bool is_same_headline(const ctprof_headline* a, const ctprof_headline* b) {
  if (!a || !b) return a == b;
  return a->size == b->size && text_or_empty(a->label) == text_or_empty(b->label) &&
         a->order == b->order && a->shown == b->shown && a->flags == b->flags &&
         a->floor == b->floor;
}

// Returns whether define() would make equal definitions of both. REQUIRES: `a` was checked.
bool is_same_declaration(const ctprof_metric& a, const ctprof_metric& b) {
  return a.entity == b.entity && a.storage == b.storage && a.flags == b.flags &&
         text_or_empty(a.newtype) == text_or_empty(b.newtype) &&
         text_or_empty(a.rule) == text_or_empty(b.rule) &&
         text_or_empty(a.role) == text_or_empty(b.role) &&
         is_same_headline(a.headline, b.headline) &&
         std::all_of(std::begin(kMetricTexts), std::end(kMetricTexts), [&](const MetricText& text) {
           return text_or_empty(a.*text.source_field) == text_or_empty(b.*text.source_field);
         });
}

}  // namespace

void DeclaredMetrics::add(const ctprof_metric& declaration, const SharedMetric& definition) {
  metrics_.try_emplace(declaration.name, declaration, definition);
}

const SharedMetric* DeclaredMetrics::find(const ctprof_metric& declaration) const {
  const auto found = metrics_.find(text_or_empty(declaration.name));
  if (found == metrics_.end() || !is_same_declaration(found->second.first, declaration))
    return nullptr;
  return &found->second.second;
}

}  // namespace ctprof
