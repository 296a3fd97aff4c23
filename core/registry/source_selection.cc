#include "core/registry/source_selection.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/registry/identity.hpp"

namespace ctprof {

// Excluding a source moves its metrics to other offers, so select again until nothing changes.
void SourceSelection::run() {
  do select_sources();
  while (!exclude_sources_without_input() || !order_sources());
}

const ProbedOffer* SourceSelection::find_best_offer(const ProbedMetric& field) const {
  for (const ProbedOffer& offer : field.offers)
    if (offer.refusal == Gap::None && !excluded_.contains(offer.source)) return &offer;
  return nullptr;
}

// Selects an offer for each requested metric, and for the columns that the selected sources read
// in turn.
void SourceSelection::select_sources() {
  sources_.clear();
  std::vector<const ProbedMetric*> pending(requested_->begin(), requested_->end());
  std::set<const ProbedMetric*> visited(requested_->begin(), requested_->end());
  while (!pending.empty()) {
    const ProbedMetric* field = pending.back();
    pending.pop_back();
    const ProbedOffer* offer = find_best_offer(*field);
    if (!offer) continue;
    select_offer(*offer, sources_);
    for (const std::string& read : columns_required_by(*offer->source))
      if (const ProbedMetric* input = probed_->find(read); input && visited.insert(input).second)
        pending.push_back(input);
  }
  select_timestamp_columns();
}

// Returns the columns that a source reads. A source of an entity of a plugin also requires the
// identity columns of its rows.
std::vector<std::string> SourceSelection::columns_required_by(const SourceTable& source) const {
  std::vector<std::string> columns;
  for (const InputColumn& read : source.reads) columns.push_back(read.column);
  const PluginEntity* entity = probed_->registry().find_entity(source.entity);
  if (!entity) return columns;
  for (const OfferTable& offer : entity->lister->offers)
    if (offer.is_supported && offer.metric->family == "identity")
      columns.push_back(offer.metric->name);
  return columns;
}

void SourceSelection::select_timestamp_columns() {
  for (const ProbedMetric& field : probed_->metrics()) {
    if (!is_timestamp_column(field.def->name)) continue;
    const ProbedOffer* offer = find_best_offer(field);
    if (offer && is_planned(*offer)) select_offer(*offer, sources_);
  }
}

bool SourceSelection::is_planned(const ProbedOffer& offer) const {
  return std::ranges::find(sources_, offer.source, &PlannedSource::source) != sources_.end();
}

// Excludes sources that read a column without a source, and all listers except one. Returns true
// if none was excluded.
bool SourceSelection::exclude_sources_without_input() {
  const auto excluded_before = excluded_.size();
  const PlannedSource* lister = find_filling_source(kTid);
  for (const PlannedSource& planned : sources_)
    if (planned.source->table.stage == CTPROF_STAGE_LIST &&
        (!lister || planned.source != lister->source))
      exclude(planned, "another source lists the threads");
  for (const PlannedSource& planned : sources_)
    if (planned.source->table.stage == CTPROF_STAGE_ENTITY && !is_listed(planned.source->entity))
      exclude(planned, "no source lists the rows of the entity '" +
                           std::string(name(planned.source->entity)) + "' on this host");
  for (const PlannedSource& planned : sources_)
    for (const InputColumn& read : planned.source->reads)
      if (!read.is_optional && !is_identity_column(read.column) &&
          !find_filling_source(read.column))
        exclude(planned, "it reads '" + read.column + "', which no source fills on this host");
  return excluded_.size() == excluded_before;
}

// Returns whether the source that lists the rows of an entity of a plugin runs.
bool SourceSelection::is_listed(Entity entity) const {
  const PluginEntity* found = probed_->registry().find_entity(entity);
  return found &&
         std::ranges::find(sources_, found->lister, &PlannedSource::source) != sources_.end();
}

// Returns the planned source that fills a column, or null.
const PlannedSource* SourceSelection::find_filling_source(std::string_view column) const {
  const ProbedMetric* field = probed_->find(column);
  const ProbedOffer* offer = field ? find_best_offer(*field) : nullptr;
  for (const PlannedSource& planned : sources_)
    if (offer && planned.source == offer->source) return &planned;
  return nullptr;
}

void SourceSelection::exclude(const PlannedSource& planned, std::string reason) {
  if (excluded_.contains(planned.source)) return;
  refusals_.push_back({planned.plugin->path, "source '" + planned.source->name + "': " + reason});
  excluded_[planned.source] = std::move(reason);
}

// Orders sources by stage, then by reads (each follows those whose columns it reads), then by
// load order. Excludes sources in cycles, and returns false if there were any.
bool SourceSelection::order_sources() {
  std::vector<PlannedSource> ordered, unplaced = in_load_order();
  while (!unplaced.empty()) {
    const auto next = std::find_if(unplaced.begin(), unplaced.end(), [&](const PlannedSource& p) {
      return has_placed_inputs(p, unplaced);
    });
    if (next == unplaced.end()) {
      for (const PlannedSource& planned : unplaced)
        exclude(planned, "it is part of a cycle of sources that read each other's columns");
      return false;
    }
    ordered.push_back(*next);
    unplaced.erase(next);
  }
  sources_ = std::move(ordered);
  return true;
}

std::vector<PlannedSource> SourceSelection::in_load_order() const {
  std::vector<PlannedSource> sources = sources_;
  const auto sort_key = [&](const PlannedSource& planned) {
    return std::tuple(planned.source->table.stage, planned.plugin,
                      planned.source);  // pointers into vectors, so their order is the load order
  };
  std::sort(sources.begin(), sources.end(),
            [&](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
  return sources;
}

// Returns whether all sources whose columns `planned` reads have been placed.
bool SourceSelection::has_placed_inputs(const PlannedSource& planned,
                                        const std::vector<PlannedSource>& unplaced) const {
  return std::none_of(
      planned.source->reads.begin(), planned.source->reads.end(), [&](const InputColumn& read) {
        const PlannedSource* filling_source =
            is_identity_column(read.column) ? nullptr : find_filling_source(read.column);
        return filling_source &&
               std::any_of(unplaced.begin(), unplaced.end(), [&](const auto& other) {
                 return other.source == filling_source->source;
               });
      });
}

}  // namespace ctprof
