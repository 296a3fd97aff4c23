#include "core/registry/plan.hpp"

#include <algorithm>
#include <set>

#include "core/registry/identity.hpp"
#include "core/registry/requested_metrics.hpp"

namespace ctprof {
namespace {

// Selects and orders sources in rounds. Each round may exclude sources; the next one then selects
// again without them.
class Planner {
 public:
  Planner(const ProbedHost& probed, const FailedSources& failed_sources)
      : probed_(&probed), excluded_(failed_sources) {}

  Result<Plan> plan(const std::optional<std::vector<std::string>>& names) {
    CTPROF_TRY_VALUE(requested_, request_metrics(*probed_, names));
    // Excluding a source moves its metrics to other offers, so select again until nothing changes.
    do select_sources();
    while (!exclude_sources_without_input() || !order_sources());
    collect_unfilled();
    plan_reserve();
    plan_exited_source();
    return std::move(plan_);
  }

 private:
  // Returns the offer with the highest rank whose source is not excluded, or null.
  const ProbedOffer* find_best_offer(const ProbedMetric& field) const {
    for (const ProbedOffer& offer : field.offers)
      if (offer.refusal == Gap::None && !excluded_.contains(offer.source)) return &offer;
    return nullptr;
  }

  // Selects an offer for each requested metric, and for the columns that the selected sources read
  // in turn.
  void select_sources() {
    plan_.sources.clear();
    std::vector<const ProbedMetric*> pending(requested_.begin(), requested_.end());
    std::set<const ProbedMetric*> visited(requested_.begin(), requested_.end());
    while (!pending.empty()) {
      const ProbedMetric* field = pending.back();
      pending.pop_back();
      const ProbedOffer* offer = find_best_offer(*field);
      if (!offer) continue;
      find_or_add_source(*offer, plan_.sources).selected_offers[offer->index] = true;
      for (const std::string& read : columns_required_by(*offer->source))
        if (const ProbedMetric* input = probed_->find(read); input && visited.insert(input).second)
          pending.push_back(input);
    }
    select_timestamp_columns();
  }

  // Returns the columns that a source reads. A source of an entity of a plugin also requires the
  // identity columns of its rows.
  std::vector<std::string> columns_required_by(const SourceTable& source) const {
    std::vector<std::string> columns;
    for (const InputColumn& read : source.reads) columns.push_back(read.column);
    const PluginEntity* entity = probed_->registry().find_entity(source.entity);
    if (!entity) return columns;
    for (const OfferTable& offer : entity->lister->offers)
      if (offer.is_supported && offer.metric->family == "identity")
        columns.push_back(offer.metric->name);
    return columns;
  }

  void select_timestamp_columns() {
    for (const ProbedMetric& field : probed_->metrics()) {
      if (!is_timestamp_column(field.def->name)) continue;
      const ProbedOffer* offer = find_best_offer(field);
      if (offer && is_planned(*offer))
        find_or_add_source(*offer, plan_.sources).selected_offers[offer->index] = true;
    }
  }

  bool is_planned(const ProbedOffer& offer) const {
    return std::ranges::find(plan_.sources, offer.source, &PlannedSource::source) !=
           plan_.sources.end();
  }

  // Finds the offer's source in `sources`, or adds it.
  static PlannedSource& find_or_add_source(const ProbedOffer& offer,
                                           std::vector<PlannedSource>& sources) {
    const auto it = std::ranges::find(sources, offer.source, &PlannedSource::source);
    if (it != sources.end()) return *it;
    return sources.emplace_back(PlannedSource{
        offer.plugin, offer.source, std::vector<bool>(offer.source->offers.size(), false)});
  }

  // Excludes sources that read a column without a source, and all listers except one. Returns true
  // if none was excluded.
  bool exclude_sources_without_input() {
    const auto excluded_before = excluded_.size();
    const PlannedSource* lister = find_filling_source(kTid);
    for (const PlannedSource& planned : plan_.sources)
      if (planned.source->table.stage == CTPROF_STAGE_LIST &&
          (!lister || planned.source != lister->source))
        exclude(planned, "another source lists the threads");
    for (const PlannedSource& planned : plan_.sources)
      if (planned.source->table.stage == CTPROF_STAGE_ENTITY && !is_listed(planned.source->entity))
        exclude(planned, "no source lists the rows of the entity '" +
                             std::string(name(planned.source->entity)) + "' on this host");
    for (const PlannedSource& planned : plan_.sources)
      for (const InputColumn& read : planned.source->reads)
        if (!read.is_optional && !is_identity_column(read.column) &&
            !find_filling_source(read.column))
          exclude(planned, "it reads '" + read.column + "', which no source fills on this host");
    return excluded_.size() == excluded_before;
  }

  // Returns whether the source that lists the rows of an entity of a plugin runs.
  bool is_listed(Entity entity) const {
    const PluginEntity* found = probed_->registry().find_entity(entity);
    return found && std::ranges::find(plan_.sources, found->lister, &PlannedSource::source) !=
                        plan_.sources.end();
  }

  // Returns the planned source that fills a column, or null.
  const PlannedSource* find_filling_source(std::string_view column) const {
    const ProbedMetric* field = probed_->find(column);
    const ProbedOffer* offer = field ? find_best_offer(*field) : nullptr;
    for (const PlannedSource& planned : plan_.sources)
      if (offer && planned.source == offer->source) return &planned;
    return nullptr;
  }

  void exclude(const PlannedSource& planned, std::string reason) {
    if (excluded_.contains(planned.source)) return;
    plan_.refusals.push_back(
        {planned.plugin->path, "source '" + planned.source->name + "': " + reason});
    excluded_[planned.source] = std::move(reason);
  }

  // Orders sources by stage, then by reads (each follows those whose columns it reads), then by
  // load order. Excludes sources in cycles, and returns false if there were any.
  bool order_sources() {
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
    plan_.sources = std::move(ordered);
    return true;
  }

  std::vector<PlannedSource> in_load_order() const {
    std::vector<PlannedSource> sources = plan_.sources;
    const auto sort_key = [&](const PlannedSource& planned) {
      return std::tuple(planned.source->table.stage, planned.plugin,
                        planned.source);  // pointers into vectors, so their order is the load order
    };
    std::sort(sources.begin(), sources.end(),
              [&](const auto& a, const auto& b) { return sort_key(a) < sort_key(b); });
    return sources;
  }

  // Returns whether all sources whose columns `planned` reads have been placed.
  bool has_placed_inputs(const PlannedSource& planned,
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

  void collect_unfilled() {
    for (const ProbedMetric& field : probed_->metrics()) {
      if (!requested_.contains(&field) || is_identity_column(field.def->name) ||
          find_best_offer(field))
        continue;
      // Report the reason of the last offer, which has the fewest requirements.
      const ProbedOffer& last_offer = field.offers.back();
      const auto exclusion = excluded_.find(last_offer.source);
      if (last_offer.refusal != Gap::None)
        plan_.unfilled_metrics.push_back({field.def, last_offer.refusal, last_offer.reason});
      else
        plan_.unfilled_metrics.push_back(
            {field.def, Gap::SourceFailed, exclusion == excluded_.end() ? "" : exclusion->second});
    }
  }

  // For each metric of the lister, plans the next best source that reads only identity columns:
  // such a source can run on any set of rows.
  void plan_reserve() {
    for (const PlannedSource& planned : plan_.sources)
      if (planned.source->table.stage == CTPROF_STAGE_LIST)
        for (std::size_t i = 0; i < planned.selected_offers.size(); ++i)
          if (planned.selected_offers[i])
            plan_reserve(*probed_->find(planned.source->offers[i].metric->name));
  }

  void plan_reserve(const ProbedMetric& field) {
    const auto is_usable = [&](const ProbedOffer& offer) {
      return offer.refusal == Gap::None && offer.source->table.stage == CTPROF_STAGE_THREAD &&
             !excluded_.contains(offer.source) &&
             std::ranges::all_of(offer.source->reads, [](const InputColumn& read) {
               return read.is_optional || is_identity_column(read.column);
             });
    };
    const auto next_offer = std::ranges::find_if(field.offers, is_usable);
    if (next_offer != field.offers.end())
      find_or_add_source(*next_offer, plan_.reserve_sources).selected_offers[next_offer->index] =
          true;
  }

  // Selects the best source of exited threads. Only one, because two would report the same threads.
  void plan_exited_source() {
    plan_.no_exited_source_reason = "no plugin reports exited threads";
    for (const ProbedRecorder& recorder : probed_->recorders()) {
      if (recorder.source->table.stage != CTPROF_STAGE_EXITED) continue;
      if (const ProbedOffer* refused_offer = find_refused_identity(recorder)) {
        plan_.no_exited_source_reason = refused_offer->reason;
        continue;
      }
      plan_.exited_thread_source = PlannedSource{recorder.plugin, recorder.source, {}};
      plan_.no_exited_source_reason.clear();
      for (const ProbedOffer& offer : recorder.offers)
        plan_.exited_thread_source->selected_offers.push_back(
            offer.refusal == Gap::None &&
            is_requested(recorder.source->offers[offer.index].metric));
      return;
    }
  }

  // Returns the first refused offer of a column that identifies exited threads, or null.
  static const ProbedOffer* find_refused_identity(const ProbedRecorder& recorder) {
    const auto it = std::ranges::find_if(recorder.offers, [&](const ProbedOffer& offer) {
      const MetricDef& metric = recorder.source->offers[offer.index].metric;
      const std::string& name = metric.name;
      return (is_identity_column(name) || name == kExitedAt) && offer.refusal != Gap::None;
    });
    return it == recorder.offers.end() ? nullptr : &*it;
  }

  bool is_requested(const MetricDef& metric) const {
    if (is_identity_column(metric.name) || metric.is_hidden) return true;
    const ProbedMetric* field = probed_->find(metric.name);
    return field && requested_.contains(field);
  }

  const ProbedHost* probed_;
  RequestedMetrics requested_;
  FailedSources excluded_;
  Plan plan_;
};

}  // namespace

Result<Plan> make_plan(const ProbedHost& probed,
                       const std::optional<std::vector<std::string>>& requested,
                       const FailedSources& failed_sources) {
  return Planner(probed, failed_sources).plan(requested);
}

}  // namespace ctprof
