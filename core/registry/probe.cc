// Registry::probe: every source is asked what it can do on this host, and what it says is kept with its offers.
//
// A source is never trusted: offers out of range and kinds of remedies that are not known (a newer plugin's) count for nothing.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/registry/plugin_call.hpp"
#include "core/registry/process_state.hpp"
#include "core/registry/registry.hpp"

namespace ctprof {
namespace {

std::string text_of(const char* data, std::size_t size) { return {data ? data : "", data ? size : 0}; }

// Where a source's answers go while it is probed.
struct Answers {
  std::vector<Offer*> offers;  // by the source's own numbering; null for those not taken

  Offer* of(std::uint32_t index) const { return index < offers.size() ? offers[index] : nullptr; }
};

// The last word on an offer counts, and takes an earlier one's remedy with it.
void refuse(void* core, std::uint32_t index, ctprof_gap gap, const char* reason, std::size_t size) {
  Offer* offer = static_cast<Answers*>(core)->of(index);
  if (!offer) return;
  offer->verdict = may_be_written(gap) && gap != CTPROF_VALUE ? static_cast<Gap>(gap) : Gap::SourceFailed;
  offer->reason = text_of(reason, size);
  offer->remedy = {};
}

void take_remedy(void* core, std::uint32_t index, const char* lack, std::size_t lack_size, ctprof_remedy kind, const char* what,
                 std::size_t what_size) {
  Offer* offer = static_cast<Answers*>(core)->of(index);
  if (!offer) return;
  Remedy remedy;
  if (kind <= CTPROF_REMEDY_KERNEL && what && what_size > 0) remedy = {kind, text_of(what, what_size)};
  if (lack && lack_size > 0) return offer->lacks.push_back({text_of(lack, lack_size), std::move(remedy)});
  if (offer->verdict != Gap::None) offer->remedy = std::move(remedy);
}

// What the source threw, in words; an empty text when it answered.
std::string ask(const Plugin& plugin, const SourceTable& source, const ctprof_host& host, Answers& answers) {
  const KeptProcessState kept;
  const CallOwner& owner = *call_owner(plugin.path, "source '" + source.name + "'");
  const ctprof_probe probe{sizeof(ctprof_probe), 0, &answers, &refuse, &take_remedy};
  const LimitedCall limited(owner, "probe");
  return contained(&owner, "probe", [&] { source.table.probe(&host, &probe); });
}

}  // namespace

std::vector<Refusal> Registry::probe(const ctprof_host& host) {
  std::vector<Refusal> thrown;
  for (const Plugin& plugin : plugins_) {
    for (const SourceTable& source : plugin.sources) {
      if (!source.table.probe) continue;
      Answers answers{std::vector<Offer*>(source.offers.size(), nullptr)};
      for (Field& field : fields_)
        for (Offer& offer : field.offers)
          if (offer.source == &source) answers.offers[offer.index] = &offer;
      const std::string words = ask(plugin, source, host, answers);
      if (words.empty()) continue;
      thrown.push_back({plugin.path, "source '" + source.name + "': " + words});
      for (std::uint32_t i = 0; i < answers.offers.size(); ++i)
        refuse(&answers, i, CTPROF_SOURCE_FAILED, words.data(), words.size());
    }
  }
  return thrown;
}

}  // namespace ctprof
