#include "tools/ctprof/commands/offer_statuses.hpp"

#include <algorithm>

#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

OfferStatus evaluate_offer(const ProbedMetric& field, const ProbedOffer& offer) {
  if (offer.refusal != Gap::None)
    return {&field, &offer, std::string(name(offer.refusal)), offer.reason};
  const ProbedOffer* chosen = field.find_selected_offer();
  if (chosen == &offer) return {&field, &offer, "fills", {}};
  return {&field, &offer, "also available", chosen->plugin->name + " is preferred"};
}

// Evaluates an offer for a metric of a recorder. Neither capture nor record starts a recorder by
// itself.
OfferStatus evaluate_recorder_offer(const ProbedMetric& field, const ProbedOffer& offer) {
  OfferStatus status = evaluate_offer(field, offer);
  status.on_request = true;
  if (!status.works()) return status;
  status.state = "also available";
  status.reason = "on request, by record --recorders " + offer.plugin->name;
  return status;
}

}  // namespace

std::vector<OfferStatus> collect_offer_statuses(const Plugin& plugin, const ProbedHost& probed) {
  std::vector<OfferStatus> statuses;
  const auto add = [&](const std::vector<ProbedMetric>& fields, auto evaluate) {
    for (const ProbedMetric& field : fields)
      for (const ProbedOffer& offer : field.offers)
        if (offer.plugin == &plugin && !field.def->is_hidden)
          statuses.push_back(evaluate(field, offer));
  };
  add(probed.metrics(), evaluate_offer);
  add(probed.stack_metrics(), evaluate_recorder_offer);
  return statuses;
}

void put_refused_plugins(JsonWriter& out, const Registry& registry) {
  out.key("refused");
  out.put('[');
  for (const Refusal& refusal : registry.refusals()) {
    out.put('{');
    out.member("path", refusal.subject);
    out.member("state", "refused");
    out.member("reason", refusal.reason);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

std::string format_refused_plugins(const Registry& registry) {
  std::string text;
  for (const Refusal& refusal : registry.refusals())
    text += "refused: " + make_printable(refusal.subject + ": " + refusal.reason) + "\n";
  return text;
}

namespace {

// Returns the first item for which `matches` is true; if there is none, appends the result of
// `make_item`.
template <class Item, class Predicate, class Make>
Item& find_or_add(std::vector<Item>& items, Predicate matches, Make make_item) {
  const auto it = std::find_if(items.begin(), items.end(), matches);
  return it != items.end() ? *it : items.emplace_back(make_item());
}

void add_to_finding(Diagnosis& diagnosis, const OfferStatus& status, const std::string& state,
                    const std::string& reason, const Remedy& remedy) {
  Finding& finding = find_or_add(
      diagnosis.findings,
      [&](const Finding& known) {
        return known.state == state && known.reason == reason && known.remedy == remedy;
      },
      [&] {
        return Finding{state, reason, remedy, {}, 0};
      });
  finding.metrics.push_back(status.field->def->name);
  if (!status.field->find_selected_offer()) ++finding.unfilled;
}

Diagnosis diagnose(const Plugin& plugin, const ProbedHost& probed) {
  Diagnosis diagnosis{&plugin};
  for (const OfferStatus& status : collect_offer_statuses(plugin, probed)) {
    ++(status.is_refused() ? diagnosis.refused
       : status.fills()    ? diagnosis.fills
                           : diagnosis.filled_by_others);
    diagnosis.on_request += status.works() && status.on_request;
    if (status.is_refused())
      add_to_finding(diagnosis, status, status.state, status.reason, status.offer->remedy);
    if (status.works())
      for (const RemainingGap& lack : status.offer->remaining_gaps)
        add_to_finding(diagnosis, status, kPartlyFilled, lack.description, lack.remedy);
  }
  return diagnosis;
}

Gain& find_gain(std::vector<Gain>& gains, const Remedy& remedy, const Plugin& plugin) {
  const bool only_for_root = remedy.kind == CTPROF_REMEDY_CAPABILITIES && !plugin.is_shipped;
  Gain& gain = find_or_add(
      gains,
      [&](const Gain& known) {
        return known.remedy == remedy && known.only_for_root == only_for_root;
      },
      [&] {
        return Gain{remedy, only_for_root};
      });
  gain.plugins.insert(plugin.name);
  return gain;
}

// Whether this remedy is not sufficient: another source of the metric lacks something that no
// capability provides, so this source will lack it too.
bool needs_other_remedy(const Remedy& remedy, const ProbedMetric& field) {
  return remedy.kind == CTPROF_REMEDY_CAPABILITIES &&
         std::any_of(field.offers.begin(), field.offers.end(), [](const ProbedOffer& offer) {
           return offer.refusal == Gap::SwitchedOff || offer.remedy.kind == CTPROF_REMEDY_KERNEL;
         });
}

void add_refusal(std::vector<Gain>& gains, const OfferStatus& status) {
  const ProbedOffer& offer = *status.offer;
  const ProbedOffer* chosen = status.field->find_selected_offer();
  if (offer.remedy.kind == CTPROF_REMEDY_NONE || (chosen && chosen->rank >= offer.rank)) return;
  if (!chosen && needs_other_remedy(offer.remedy, *status.field)) return;
  Gain& gain = find_gain(gains, offer.remedy, *offer.plugin);
  (chosen ? gain.better_filled : gain.newly_filled).insert(status.field->def->name);
}

void add_lacks(std::vector<Gain>& gains, const OfferStatus& status) {
  for (const RemainingGap& lack : status.offer->remaining_gaps) {
    if (lack.remedy.kind == CTPROF_REMEDY_NONE) continue;
    find_gain(gains, lack.remedy, *status.offer->plugin)
        .more_complete.insert(status.field->def->name);
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const ProbedHost& probed) {
  std::vector<Diagnosis> diagnoses;
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.is_layout) diagnoses.push_back(diagnose(plugin, probed));
  return diagnoses;
}

std::vector<Gain> find_gains(const ProbedHost& probed) {
  std::vector<Gain> gains;
  for (const Plugin& plugin : probed.registry().plugins())
    for (const OfferStatus& status : collect_offer_statuses(plugin, probed)) {
      if (status.is_refused()) add_refusal(gains, status);
      if (status.works()) add_lacks(gains, status);
    }
  return gains;
}

}  // namespace ctprof::cli
