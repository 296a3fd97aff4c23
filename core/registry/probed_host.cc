// What a source reports in probe() is validated: an offer out of range or an unknown kind of remedy
// (of a newer plugin) is ignored.

#include "core/registry/probed_host.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state_guard.hpp"

namespace ctprof {
namespace {

std::string text_of(const char* data, std::size_t size) {
  return {data ? data : "", data ? size : 0};
}

// Receives the results of probing a source.
struct ProbeResults {
  // By index in the source; null for offers that were not accepted.
  std::vector<ProbedOffer*> offers;

  ProbedOffer* find_offer(std::uint32_t index) const {
    return index < offers.size() ? offers[index] : nullptr;
  }
};

// The last refusal of an offer counts, and discards an earlier remedy.
void refuse(void* core, std::uint32_t index, ctprof_gap gap, const char* reason, std::size_t size) {
  ProbedOffer* offer = static_cast<ProbeResults*>(core)->find_offer(index);
  if (!offer) return;
  offer->refusal = may_be_written(gap) && gap != CTPROF_VALUE && gap != CTPROF_UNSEEN
                       ? static_cast<Gap>(gap)
                       : Gap::SourceFailed;
  offer->reason = text_of(reason, size);
  offer->remedy = {};
}

void add_remedy(void* core, std::uint32_t index, const char* missing, std::size_t missing_size,
                ctprof_remedy kind, const char* text, std::size_t text_size) {
  ProbedOffer* offer = static_cast<ProbeResults*>(core)->find_offer(index);
  if (!offer) return;
  Remedy remedy;
  if (kind <= CTPROF_REMEDY_KERNEL && text && text_size > 0)
    remedy = {kind, text_of(text, text_size)};
  if (missing && missing_size > 0)
    return offer->remaining_gaps.push_back({text_of(missing, missing_size), std::move(remedy)});
  if (offer->refusal != Gap::None) offer->remedy = std::move(remedy);
}

bool is_selected(const Recorder& recorder, RecorderSelection selection) {
  const bool records = recorder.source->table.stage == CTPROF_STAGE_RECORD;
  return records ? selection == RecorderSelection::All : selection != RecorderSelection::None;
}

// Probes a source. Returns a message if it threw, or "".
std::string call_probe(const Plugin& plugin, const SourceTable& source, const ctprof_host& host,
                       ProbeResults& results) {
  const ProcessStateGuard state_guard;
  const CallOwner& owner = *call_owner(plugin.path, "source '" + source.name + "'");
  const ctprof_probe table{sizeof(ctprof_probe), 0, &results, &refuse, &add_remedy};
  const LimitedCall limited(owner, "probe");
  return run_contained(&owner, "probe", [&] { source.table.probe(&host, &table); });
}

}  // namespace

const ProbedOffer* ProbedMetric::find_selected_offer() const {
  const auto it = std::ranges::find(offers, Gap::None, &ProbedOffer::refusal);
  return it == offers.end() ? nullptr : &*it;
}

PluginContext::PluginContext(const Plugin& plugin, const ctprof_host& host) : path_(plugin.path) {
  const ProcessStateGuard state_guard;
  const CallOwner& owner = *call_owner(path_);
  const LimitedCall limited(owner, "open_plugin");
  std::array<char, kMessageBytes> message{};
  std::int32_t status = 0;
  failure_ = run_contained(&owner, "open_plugin", [&] {
    status = plugin.open(&host, &context_, message.data(), message.size());
  });
  message.back() = 0;
  if (failure_.empty() && status != 0)
    failure_ = message[0] ? message.data() : "opening it failed without a message";
  if (failure_.empty()) close_ = plugin.close;
}

PluginContext::PluginContext(PluginContext&& other) noexcept { *this = std::move(other); }

PluginContext& PluginContext::operator=(PluginContext&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(close_, other.close_);
  std::swap(context_, other.context_);
  std::swap(failure_, other.failure_);
  return *this;
}

PluginContext::~PluginContext() {
  if (!close_) return;
  const ProcessStateGuard state_guard;
  run_contained(call_owner(path_), "close_plugin", [&] { close_(context_); });
}

ProbedHost::ProbedHost(const Registry& registry, const ctprof_host& host,
                       RecorderSelection recorders, EarlyContexts early_contexts)
    : registry_(&registry), host_(host) {
  metrics_.reserve(registry.offered_metrics().size());
  for (const OfferedMetric& field : registry.offered_metrics()) {
    ProbedMetric& probed = metrics_.emplace_back(ProbedMetric{field.def, {}});
    for (const Offer& offer : field.offers) probed.offers.push_back({offer});
  }
  for (const Recorder& recorder : registry.recorders()) {
    if (!is_selected(recorder, recorders)) continue;
    ProbedRecorder& probed =
        recorders_.emplace_back(ProbedRecorder{recorder.plugin, recorder.source, {}});
    for (std::uint32_t i = 0; i < recorder.source->offers.size(); ++i)
      probed.offers.push_back(
          {Offer{recorder.plugin, recorder.source, i, recorder.source->offers[i].rank}});
  }
  opened_plugins_.reserve(registry.plugins().size());
  for (const Plugin& plugin : registry.plugins()) open_plugin(plugin, early_contexts);
  // All plugins are open now, so background work of one continues while others are probed. Plugins
  // that were opened early are probed last.
  for (const bool opened_early : {false, true})
    for (const OpenedPlugin& opened : opened_plugins_)
      if (opened.plugin->opens_early == opened_early) probe_plugin(opened);
  collect_stacks();
}

void ProbedHost::probe_plugin(const OpenedPlugin& opened) {
  for (const SourceTable& source : opened.plugin->sources) probe_plugin(opened, source);
}

void ProbedHost::collect_stacks() {
  for (const ProbedRecorder& recorder : recorders_)
    for (const ProbedOffer& offer : recorder.offers)
      if (const OfferTable& table = recorder.source->offers[offer.index];
          table.is_supported && recorder.source->table.stage == CTPROF_STAGE_RECORD)
        stack_metrics_.push_back({table.metric, {offer}});
}

void ProbedHost::open_plugin(const Plugin& plugin, EarlyContexts& early_contexts) {
  OpenedPlugin& opened = opened_plugins_.emplace_back(OpenedPlugin{&plugin});
  for (const PluginOption& option : plugin.options)
    opened.settings.push_back({option.key.c_str(), option.value.c_str()});
  if (!plugin.open) return;
  auto early_context = early_contexts.extract(plugin.path);
  opened.context =
      early_context ? std::move(early_context.mapped()) : PluginContext(plugin, host_for(opened));
  if (!opened.context.failure().empty())
    failures_.push_back({plugin.path, opened.context.failure()});
}

void ProbedHost::probe_plugin(const OpenedPlugin& opened, const SourceTable& source) {
  ProbeResults results{std::vector<ProbedOffer*>(source.offers.size(), nullptr)};
  for (ProbedMetric& field : metrics_)
    for (ProbedOffer& offer : field.offers)
      if (offer.source == &source) results.offers[offer.index] = &offer;
  for (ProbedRecorder& recorder : recorders_)
    if (recorder.source == &source)
      for (ProbedOffer& offer : recorder.offers) results.offers[offer.index] = &offer;
  const bool is_recorder = works_in_window(source.table.stage);
  if (is_recorder && !std::ranges::count(recorders_, &source, &ProbedRecorder::source)) return;
  std::string failure = opened.context.failure();
  if (failure.empty() && source.table.probe) {
    failure = call_probe(*opened.plugin, source, host_for(*opened.plugin), results);
    if (!failure.empty())
      failures_.push_back({opened.plugin->path, "source '" + source.name + "': " + failure});
  }
  for (std::uint32_t i = 0; !failure.empty() && i < results.offers.size(); ++i)
    refuse(&results, i, CTPROF_SOURCE_FAILED, failure.data(), failure.size());
}

const ProbedMetric* ProbedHost::find(std::string_view metric) const {
  const auto it = std::ranges::find_if(
      metrics_, [&](const ProbedMetric& field) { return field.def->name == metric; });
  return it == metrics_.end() ? nullptr : &*it;
}

ctprof_host ProbedHost::host_for(const Plugin& plugin) const {
  const auto it = std::ranges::find(opened_plugins_, &plugin, &OpenedPlugin::plugin);
  return it == opened_plugins_.end() ? host_ : host_for(*it);
}

ctprof_host ProbedHost::host_for(const OpenedPlugin& opened) const {
  ctprof_host host = host_;
  host.context = opened.context.get();
  host.options = {opened.settings.data(), static_cast<std::uint32_t>(opened.settings.size()),
                  sizeof(ctprof_setting)};
  return host;
}

}  // namespace ctprof
