// The results of a source are validated: an offer out of range or an unknown kind of remedy (of a
// newer plugin) is ignored.

#include "core/registry/probed.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state.hpp"

namespace ctprof {
namespace {

std::string text_of(const char* data, std::size_t size) {
  return {data ? data : "", data ? size : 0};
}

// Receives the results of probing a source.
struct Answers {
  std::vector<ProbedOffer*>
      offers;  // by index in the source; null for offers that were not accepted

  ProbedOffer* of(std::uint32_t index) const {
    return index < offers.size() ? offers[index] : nullptr;
  }
};

// The last refusal of an offer counts, and discards an earlier remedy.
void refuse(void* core, std::uint32_t index, ctprof_gap gap, const char* reason, std::size_t size) {
  ProbedOffer* offer = static_cast<Answers*>(core)->of(index);
  if (!offer) return;
  offer->verdict = may_be_written(gap) && gap != CTPROF_VALUE && gap != CTPROF_UNSEEN
                       ? static_cast<Gap>(gap)
                       : Gap::SourceFailed;
  offer->reason = text_of(reason, size);
  offer->remedy = {};
}

void take_remedy(void* core, std::uint32_t index, const char* lack, std::size_t lack_size,
                 ctprof_remedy kind, const char* what, std::size_t what_size) {
  ProbedOffer* offer = static_cast<Answers*>(core)->of(index);
  if (!offer) return;
  Remedy remedy;
  if (kind <= CTPROF_REMEDY_KERNEL && what && what_size > 0)
    remedy = {kind, text_of(what, what_size)};
  if (lack && lack_size > 0)
    return offer->lacks.push_back({text_of(lack, lack_size), std::move(remedy)});
  if (offer->verdict != Gap::None) offer->remedy = std::move(remedy);
}

bool is_asked(const Recorder& recorder, Recorders asked) {
  const bool records = recorder.source->table.stage == CTPROF_STAGE_RECORD;
  return records ? asked == Recorders::All : asked != Recorders::None;
}

// Probes a source. Returns a message if it threw, or "".
std::string probe(const Plugin& plugin, const SourceTable& source, const ctprof_host& host,
                  Answers& answers) {
  const KeptProcessState kept;
  const CallOwner& owner = *call_owner(plugin.path, "source '" + source.name + "'");
  const ctprof_probe table{sizeof(ctprof_probe), 0, &answers, &refuse, &take_remedy};
  const LimitedCall limited(owner, "probe");
  return contained(&owner, "probe", [&] { source.table.probe(&host, &table); });
}

}  // namespace

const ProbedOffer* ProbedField::chosen() const {
  const auto it = std::ranges::find(offers, Gap::None, &ProbedOffer::verdict);
  return it == offers.end() ? nullptr : &*it;
}

PluginContext::PluginContext(const Plugin& plugin, const ctprof_host& host) : path_(plugin.path) {
  const KeptProcessState kept;
  const CallOwner& owner = *call_owner(path_);
  const LimitedCall limited(owner, "open_plugin");
  std::array<char, 512> message{};
  std::int32_t status = 0;
  failure_ = contained(&owner, "open_plugin", [&] {
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
  const KeptProcessState kept;
  contained(call_owner(path_), "close_plugin", [&] { close_(context_); });
}

Probed::Probed(const Registry& registry, const ctprof_host& host, Recorders recorders,
               ContextsAhead ahead)
    : registry_(&registry), host_(host) {
  fields_.reserve(registry.fields().size());
  for (const Field& field : registry.fields()) {
    ProbedField& probed = fields_.emplace_back(ProbedField{field.def, {}});
    for (const Offer& offer : field.offers) probed.offers.push_back({offer});
  }
  for (const Recorder& recorder : registry.recorders()) {
    if (!is_asked(recorder, recorders)) continue;
    ProbedRecorder& probed =
        recorders_.emplace_back(ProbedRecorder{recorder.plugin, recorder.source, {}});
    for (std::uint32_t i = 0; i < recorder.source->offers.size(); ++i)
      probed.offers.push_back(
          {Offer{recorder.plugin, recorder.source, i, recorder.source->offers[i].rank}});
  }
  opened_.reserve(registry.plugins().size());
  for (const Plugin& plugin : registry.plugins()) open(plugin, ahead);
  // All plugins are open now, so background work of one continues while others are probed. Plugins
  // that were opened early are probed last.
  for (const bool ahead_of_others : {false, true})
    for (const Opened& opened : opened_)
      if (opened.plugin->ahead == ahead_of_others) ask(opened);
  collect_stacks();
}

void Probed::ask(const Opened& opened) {
  for (const SourceTable& source : opened.plugin->sources) ask(opened, source);
}

void Probed::collect_stacks() {
  for (const ProbedRecorder& recorder : recorders_)
    for (const ProbedOffer& offer : recorder.offers)
      if (const OfferTable& table = recorder.source->offers[offer.index];
          table.served && recorder.source->table.stage == CTPROF_STAGE_RECORD)
        stacks_.push_back({table.metric, {offer}});
}

void Probed::open(const Plugin& plugin, ContextsAhead& ahead) {
  Opened& opened = opened_.emplace_back(Opened{&plugin});
  for (const PluginOption& option : plugin.options)
    opened.settings.push_back({option.key.c_str(), option.value.c_str()});
  if (!plugin.open) return;
  auto made = ahead.extract(plugin.path);
  opened.context = made ? std::move(made.mapped()) : PluginContext(plugin, host_for(opened));
  if (!opened.context.failure().empty()) thrown_.push_back({plugin.path, opened.context.failure()});
}

void Probed::ask(const Opened& opened, const SourceTable& source) {
  Answers answers{std::vector<ProbedOffer*>(source.offers.size(), nullptr)};
  for (ProbedField& field : fields_)
    for (ProbedOffer& offer : field.offers)
      if (offer.source == &source) answers.offers[offer.index] = &offer;
  for (ProbedRecorder& recorder : recorders_)
    if (recorder.source == &source)
      for (ProbedOffer& offer : recorder.offers) answers.offers[offer.index] = &offer;
  const bool is_recorder = source.table.stage >= CTPROF_STAGE_EXITED;
  if (is_recorder && !std::ranges::count(recorders_, &source, &ProbedRecorder::source)) return;
  std::string words = opened.context.failure();
  if (words.empty() && source.table.probe) {
    words = probe(*opened.plugin, source, host_for(*opened.plugin), answers);
    if (!words.empty())
      thrown_.push_back({opened.plugin->path, "source '" + source.name + "': " + words});
  }
  for (std::uint32_t i = 0; !words.empty() && i < answers.offers.size(); ++i)
    refuse(&answers, i, CTPROF_SOURCE_FAILED, words.data(), words.size());
}

const ProbedField* Probed::find(std::string_view metric) const {
  const auto it = std::ranges::find_if(
      fields_, [&](const ProbedField& field) { return field.def->name == metric; });
  return it == fields_.end() ? nullptr : &*it;
}

ctprof_host Probed::host_for(const Plugin& plugin) const {
  const auto it = std::ranges::find(opened_, &plugin, &Opened::plugin);
  return it == opened_.end() ? host_ : host_for(*it);
}

ctprof_host Probed::host_for(const Opened& opened) const {
  ctprof_host host = host_;
  host.context = opened.context.get();
  host.options = {opened.settings.data(), static_cast<std::uint32_t>(opened.settings.size()),
                  sizeof(ctprof_setting)};
  return host;
}

}  // namespace ctprof
