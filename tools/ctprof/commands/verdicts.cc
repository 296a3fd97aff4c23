#include "tools/ctprof/commands/verdicts.hpp"

#include <algorithm>

#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

Verdict judge(const ProbedField& field, const ProbedOffer& offer) {
  if (offer.verdict != Gap::None)
    return {&field, &offer, std::string(name(offer.verdict)), offer.reason};
  const ProbedOffer* chosen = field.chosen();
  if (chosen == &offer) return {&field, &offer, "fills", {}};
  return {&field, &offer, "also available", chosen->plugin->name + " is preferred"};
}

// Judges an offer for a metric of a recorder. Neither capture nor record starts a recorder by
// itself.
Verdict judge_recorder(const ProbedField& field, const ProbedOffer& offer) {
  Verdict verdict = judge(field, offer);
  verdict.on_request = true;
  if (!verdict.works()) return verdict;
  verdict.state = "also available";
  verdict.reason = "on request, by record --recorders " + offer.plugin->name;
  return verdict;
}

}  // namespace

std::vector<Verdict> verdicts_on(const Plugin& plugin, const Probed& probed) {
  std::vector<Verdict> verdicts;
  const auto add = [&](const std::vector<ProbedField>& fields, auto judge_offer) {
    for (const ProbedField& field : fields)
      for (const ProbedOffer& offer : field.offers)
        if (offer.plugin == &plugin && !field.def->hidden)
          verdicts.push_back(judge_offer(field, offer));
  };
  add(probed.fields(), judge);
  add(probed.stacks(), judge_recorder);
  return verdicts;
}

void put_refused(JsonWriter& out, const Registry& registry) {
  out.key("refused");
  out.put('[');
  for (const Refusal& refusal : registry.refused()) {
    out.put('{');
    out.member("path", refusal.what);
    out.member("state", "refused");
    out.member("reason", refusal.reason);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

std::string text_of_refused(const Registry& registry) {
  std::string text;
  for (const Refusal& refusal : registry.refused())
    text += "refused: " + printable(refusal.what + ": " + refusal.reason) + "\n";
  return text;
}

namespace {

// Returns the first item for which `matches` is true; if there is none, appends the result of
// `make_item`.
template <class Item, class IsIt, class Make>
Item& found_or_made(std::vector<Item>& items, IsIt is_it, Make make) {
  const auto it = std::find_if(items.begin(), items.end(), is_it);
  return it != items.end() ? *it : items.emplace_back(make());
}

void add(Diagnosis& diagnosis, const Verdict& verdict, const std::string& state,
         const std::string& reason, const Remedy& remedy) {
  Finding& finding = found_or_made(
      diagnosis.findings,
      [&](const Finding& known) {
        return known.state == state && known.reason == reason && known.remedy == remedy;
      },
      [&] {
        return Finding{state, reason, remedy, {}, 0};
      });
  finding.metrics.push_back(verdict.field->def->name);
  if (!verdict.field->chosen()) ++finding.unfilled;
}

Diagnosis diagnose(const Plugin& plugin, const Probed& probed) {
  Diagnosis diagnosis{&plugin};
  for (const Verdict& verdict : verdicts_on(plugin, probed)) {
    ++(verdict.is_refused() ? diagnosis.refused
       : verdict.fills()    ? diagnosis.fills
                            : diagnosis.second);
    diagnosis.on_request += verdict.works() && verdict.on_request;
    if (verdict.is_refused())
      add(diagnosis, verdict, verdict.state, verdict.reason, verdict.offer->remedy);
    if (verdict.works())
      for (const Lack& lack : verdict.offer->lacks)
        add(diagnosis, verdict, kInPart, lack.sentence, lack.remedy);
  }
  return diagnosis;
}

Gain& gain_by(std::vector<Gain>& gains, const Remedy& remedy, const Plugin& plugin) {
  const bool for_root_alone = remedy.kind == CTPROF_REMEDY_CAPABILITIES && !plugin.shipped;
  Gain& gain = found_or_made(
      gains,
      [&](const Gain& known) {
        return known.remedy == remedy && known.for_root_alone == for_root_alone;
      },
      [&] {
        return Gain{remedy, for_root_alone};
      });
  gain.plugins.insert(plugin.name);
  return gain;
}

// Whether this remedy is not sufficient: another source of the metric lacks something that no
// capability provides, so this source will lack it too.
bool needs_more_than(const Remedy& remedy, const ProbedField& field) {
  return remedy.kind == CTPROF_REMEDY_CAPABILITIES &&
         std::any_of(field.offers.begin(), field.offers.end(), [](const ProbedOffer& offer) {
           return offer.verdict == Gap::SwitchedOff || offer.remedy.kind == CTPROF_REMEDY_KERNEL;
         });
}

void add_refusal(std::vector<Gain>& gains, const Verdict& verdict) {
  const ProbedOffer& offer = *verdict.offer;
  const ProbedOffer* chosen = verdict.field->chosen();
  if (offer.remedy.kind == CTPROF_REMEDY_NONE || (chosen && chosen->rank >= offer.rank)) return;
  if (!chosen && needs_more_than(offer.remedy, *verdict.field)) return;
  Gain& gain = gain_by(gains, offer.remedy, *offer.plugin);
  (chosen ? gain.better : gain.filled).insert(verdict.field->def->name);
}

void add_lacks(std::vector<Gain>& gains, const Verdict& verdict) {
  for (const Lack& lack : verdict.offer->lacks) {
    if (lack.remedy.kind == CTPROF_REMEDY_NONE) continue;
    gain_by(gains, lack.remedy, *verdict.offer->plugin).fuller.insert(verdict.field->def->name);
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const Probed& probed) {
  std::vector<Diagnosis> diagnoses;
  for (const Plugin& plugin : probed.registry().plugins())
    if (!plugin.layout) diagnoses.push_back(diagnose(plugin, probed));
  return diagnoses;
}

std::vector<Gain> gains(const Probed& probed) {
  std::vector<Gain> gains;
  for (const Plugin& plugin : probed.registry().plugins())
    for (const Verdict& verdict : verdicts_on(plugin, probed)) {
      if (verdict.is_refused()) add_refusal(gains, verdict);
      if (verdict.works()) add_lacks(gains, verdict);
    }
  return gains;
}

}  // namespace ctprof::cli
