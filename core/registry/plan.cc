#include "core/registry/plan.hpp"

#include <algorithm>
#include <set>

#include "core/base/text.hpp"
#include "core/expression/expression.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

using Wanted = std::set<const ProbedField*>;

bool is_identity(std::string_view column) {
  const auto& all = identity_metrics();
  return column == kTaskDir || column == kStat || column == kReadAt || column == kBornAt ||
         std::any_of(all.begin(), all.end(),
                     [&](const MetricDef& def) { return def.name == column; });
}

// Whether a column is only read from sources that run anyway.
bool is_by_the_way(std::string_view column) { return column == kReadAt || column == kBornAt; }

// Selects and orders sources in rounds. Each round may exclude sources; the next one then selects
// again without them.
class Planner {
 public:
  Planner(const Probed& probed, const Lost& lost) : probed_(&probed), out_(lost) {}

  Result<Plan> plan(const std::optional<std::vector<std::string>>& names) {
    if (auto known = want(names); !known) return known.error();
    // Excluding a source moves its metrics to other offers, so select again until nothing changes.
    do choose();
    while (!drop_unfed() || !order());
    collect_unfilled();
    plan_reserve();
    plan_ends();
    return std::move(plan_);
  }

 private:
  Result<void> want(const std::optional<std::vector<std::string>>& names) {
    // Identity metrics are always requested: the source that offers them lists the threads.
    for (const ProbedField& field : probed_->fields())
      if (!is_by_the_way(field.def->name) &&
          (is_identity(field.def->name) || is_always_wanted(field) ||
           (!names && !field.def->hidden)))
        wanted_.insert(&field);
    if (names)
      for (const std::string& name : *names)
        if (auto known = want(name); !known) return known.error();
    return {};
  }

  static bool is_always_wanted(const ProbedField& field) {
    return std::ranges::any_of(field.offers, [](const ProbedOffer& offer) {
      return offer.plugin->always && offer.plugin->shipped;
    });
  }

  Result<void> want(const std::string& name) {
    if (is_identity(name)) return {};
    if (const ProbedField* field = probed_->find(name)) {
      wanted_.insert(field);
      return {};
    }
    const auto& derived = probed_->registry().derived();
    const auto it = std::find_if(derived.begin(), derived.end(),
                                 [&](const DerivedDef& def) { return def.name == name; });
    if (it == derived.end()) return unknown(name);
    for (const std::string& input : inputs_of(it->expression))
      if (const ProbedField* field = probed_->find(input)) wanted_.insert(field);
    return {};
  }

  Error unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const ProbedField& field : probed_->fields()) names.push_back(field.def->name);
    for (const DerivedDef& derived : probed_->registry().derived()) names.push_back(derived.name);
    return {"no loaded plugin has a metric '" + name + "'" + nearest_hint(name, names) +
            "; `ctprof metric-list` shows them all"};
  }

  // Returns the offer with the highest rank whose source is not excluded, or null.
  const ProbedOffer* best(const ProbedField& field) const {
    for (const ProbedOffer& offer : field.offers)
      if (offer.verdict == Gap::None && !out_.contains(offer.source)) return &offer;
    return nullptr;
  }

  // Selects an offer for each requested metric, and for the columns that the selected sources read
  // in turn.
  void choose() {
    plan_.sources.clear();
    std::vector<const ProbedField*> open(wanted_.begin(), wanted_.end());
    std::set<const ProbedField*> seen(wanted_.begin(), wanted_.end());
    while (!open.empty()) {
      const ProbedField* field = open.back();
      open.pop_back();
      const ProbedOffer* offer = best(*field);
      if (!offer) continue;
      planned(*offer, plan_.sources).chosen[offer->index] = true;
      for (const Read& read : offer->source->reads)
        if (const ProbedField* needed = probed_->find(read.column);
            needed && seen.insert(needed).second)
          open.push_back(needed);
    }
    choose_by_the_way();
  }

  void choose_by_the_way() {
    for (const ProbedField& field : probed_->fields()) {
      if (!is_by_the_way(field.def->name)) continue;
      const ProbedOffer* offer = best(field);
      if (offer && is_planned(*offer)) planned(*offer, plan_.sources).chosen[offer->index] = true;
    }
  }

  bool is_planned(const ProbedOffer& offer) const {
    return std::ranges::find(plan_.sources, offer.source, &PlannedSource::source) !=
           plan_.sources.end();
  }

  // Finds the offer's source in `sources`, or adds it.
  static PlannedSource& planned(const ProbedOffer& offer, std::vector<PlannedSource>& sources) {
    const auto it = std::ranges::find(sources, offer.source, &PlannedSource::source);
    if (it != sources.end()) return *it;
    return sources.emplace_back(PlannedSource{
        offer.plugin, offer.source, std::vector<bool>(offer.source->offers.size(), false)});
  }

  // Excludes sources that read a column without a source, and all listers except one. Returns true
  // if none was excluded.
  bool drop_unfed() {
    const auto before = out_.size();
    const PlannedSource* lister = filler(kTid);
    for (const PlannedSource& planned : plan_.sources)
      if (planned.source->table.stage == CTPROF_STAGE_LIST &&
          (!lister || planned.source != lister->source))
        take_out(planned, "another source lists the threads");
    for (const PlannedSource& planned : plan_.sources)
      for (const Read& read : planned.source->reads)
        if (!read.optional && !is_identity(read.column) && !filler(read.column))
          take_out(planned, "it reads '" + read.column + "', which no source fills on this host");
    return out_.size() == before;
  }

  // Returns the planned source that fills a column, or null.
  const PlannedSource* filler(std::string_view column) const {
    const ProbedField* field = probed_->find(column);
    const ProbedOffer* offer = field ? best(*field) : nullptr;
    for (const PlannedSource& planned : plan_.sources)
      if (offer && planned.source == offer->source) return &planned;
    return nullptr;
  }

  void take_out(const PlannedSource& planned, std::string why) {
    if (out_.contains(planned.source)) return;
    plan_.refused.push_back(
        {planned.plugin->path, "source '" + planned.source->name + "': " + why});
    out_[planned.source] = std::move(why);
  }

  // Orders sources by stage, then by reads (each follows those whose columns it reads), then by
  // load order. Excludes sources in cycles, and returns false if there were any.
  bool order() {
    std::vector<PlannedSource> ordered, waiting = in_load_order();
    while (!waiting.empty()) {
      const auto next = std::find_if(waiting.begin(), waiting.end(),
                                     [&](const PlannedSource& p) { return is_fed(p, waiting); });
      if (next == waiting.end()) {
        for (const PlannedSource& planned : waiting)
          take_out(planned, "it is part of a cycle of sources that read each other's columns");
        return false;
      }
      ordered.push_back(*next);
      waiting.erase(next);
    }
    plan_.sources = std::move(ordered);
    return true;
  }

  std::vector<PlannedSource> in_load_order() const {
    std::vector<PlannedSource> sources = plan_.sources;
    const auto place = [&](const PlannedSource& planned) {
      return std::tuple(planned.source->table.stage, planned.plugin,
                        planned.source);  // pointers into vectors, so their order is the load order
    };
    std::sort(sources.begin(), sources.end(),
              [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return sources;
  }

  // Whether all sources whose columns `planned` reads have been placed.
  bool is_fed(const PlannedSource& planned, const std::vector<PlannedSource>& waiting) const {
    return std::none_of(
        planned.source->reads.begin(), planned.source->reads.end(), [&](const Read& read) {
          const PlannedSource* from = is_identity(read.column) ? nullptr : filler(read.column);
          return from && std::any_of(waiting.begin(), waiting.end(), [&](const auto& other) {
                   return other.source == from->source;
                 });
        });
  }

  void collect_unfilled() {
    for (const ProbedField& field : probed_->fields()) {
      if (!wanted_.contains(&field) || is_identity(field.def->name) || best(field)) continue;
      // Report the reason of the last offer, which has the fewest requirements.
      const ProbedOffer& last = field.offers.back();
      const auto out = out_.find(last.source);
      if (last.verdict != Gap::None)
        plan_.unfilled.push_back({field.def, last.verdict, last.reason});
      else
        plan_.unfilled.push_back(
            {field.def, Gap::SourceFailed, out == out_.end() ? "" : out->second});
    }
  }

  // For each metric of the lister, plans the next best source that reads only identity columns:
  // such a source can run on any set of rows.
  void plan_reserve() {
    for (const PlannedSource& planned : plan_.sources)
      if (planned.source->table.stage == CTPROF_STAGE_LIST)
        for (std::size_t i = 0; i < planned.chosen.size(); ++i)
          if (planned.chosen[i])
            plan_reserve(*probed_->find(planned.source->offers[i].metric->name));
  }

  void plan_reserve(const ProbedField& field) {
    const auto can = [&](const ProbedOffer& offer) {
      return offer.verdict == Gap::None && offer.source->table.stage == CTPROF_STAGE_THREAD &&
             !out_.contains(offer.source) &&
             std::ranges::all_of(offer.source->reads, [](const Read& read) {
               return read.optional || is_identity(read.column);
             });
    };
    const auto next = std::ranges::find_if(field.offers, can);
    if (next != field.offers.end()) planned(*next, plan_.unseen).chosen[next->index] = true;
  }

  // Selects the best source of exited threads. Only one, because two would report the same threads.
  void plan_ends() {
    plan_.no_ends = "no plugin reports exited threads";
    for (const ProbedRecorder& recorder : probed_->recorders()) {
      if (recorder.source->table.stage != CTPROF_STAGE_EXITED) continue;
      if (const ProbedOffer* refused = refused_identity(recorder)) {
        plan_.no_ends = refused->reason;
        continue;
      }
      plan_.ends = PlannedSource{recorder.plugin, recorder.source, {}};
      plan_.no_ends.clear();
      for (const ProbedOffer& offer : recorder.offers)
        plan_.ends->chosen.push_back(offer.verdict == Gap::None &&
                                     is_wanted(recorder.source->offers[offer.index].metric));
      return;
    }
  }

  // Returns the first refused offer of a column that identifies exited threads, or null.
  static const ProbedOffer* refused_identity(const ProbedRecorder& recorder) {
    const auto it = std::ranges::find_if(recorder.offers, [&](const ProbedOffer& offer) {
      const MetricDef& metric = recorder.source->offers[offer.index].metric;
      const std::string& name = metric.name;
      return (is_identity(name) || name == kEndedAt) && offer.verdict != Gap::None;
    });
    return it == recorder.offers.end() ? nullptr : &*it;
  }

  bool is_wanted(const MetricDef& metric) const {
    if (is_identity(metric.name) || metric.hidden) return true;
    const ProbedField* field = probed_->find(metric.name);
    return field && wanted_.contains(field);
  }

  const Probed* probed_;
  Wanted wanted_;
  Lost out_;
  Plan plan_;
};

}  // namespace

namespace {

bool is_recorder(const ProbedRecorder& recorder) {
  return recorder.source->table.stage == CTPROF_STAGE_RECORD;
}

Error no_recorder(const Probed& probed, const std::string& name) {
  std::vector<std::string> names;
  for (const ProbedRecorder& recorder : probed.recorders())
    if (is_recorder(recorder)) names.push_back(recorder.plugin->name);
  return {"no loaded plugin has a recorder '" + name + "'" + nearest_hint(name, names) +
          (names.empty() ? "; there is none" : "; there are: " + joined(names))};
}

Result<PlannedSource> plan_recorder(const ProbedRecorder& recorder) {
  PlannedSource planned{recorder.plugin, recorder.source, {}};
  for (const ProbedOffer& offer : recorder.offers)
    planned.chosen.push_back(offer.verdict == Gap::None);
  if (std::ranges::find(planned.chosen, true) != planned.chosen.end()) return planned;
  return Error{"the recorder '" + recorder.source->name + "' cannot record here: " +
               (recorder.offers.empty() ? "it offers nothing" : recorder.offers.front().reason)};
}

}  // namespace

Result<std::vector<PlannedSource>> plan_recorders(const Probed& probed,
                                                  const std::vector<std::string>& names) {
  std::vector<PlannedSource> recorders;
  for (const std::string& name : names) {
    const auto it = std::ranges::find_if(probed.recorders(), [&](const ProbedRecorder& recorder) {
      return is_recorder(recorder) &&
             (recorder.plugin->name == name || recorder.source->name == name);
    });
    if (it == probed.recorders().end()) return no_recorder(probed, name);
    auto planned = plan_recorder(*it);
    if (!planned) return planned.error();
    const bool known = std::ranges::any_of(
        recorders, [&](const PlannedSource& other) { return other.source == planned->source; });
    if (!known) recorders.push_back(std::move(*planned));
  }
  return recorders;
}

Result<Plan> make_plan(const Probed& probed, const std::optional<std::vector<std::string>>& wanted,
                       const Lost& lost) {
  return Planner(probed, lost).plan(wanted);
}

}  // namespace ctprof
