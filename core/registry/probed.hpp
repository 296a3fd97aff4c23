// What this host can do now: every plugin opened, every source asked, every answer kept.
//
//   const Registry registry(*load_plugins(...));      // once
//   const Probed probed(registry, roots.host());      // as often as there is reason to ask again
//   const Plan plan = *make_plan(probed, wanted);
//
// The registry stays as it was: a host changes (a switch is turned, a scheduler loaded), and what
// it was a moment ago is no answer. While a Probed lives, each plugin's context lives (open_plugin
// and close_plugin in abi.h); sources of one plugin share it.
//
// A plugin that cannot be opened keeps its offers, all refused as SourceFailed with its sentence.
//
// Ownership: refers to the registry and to the host's directories, which must outlive it. Any
// thread may read it. Not here: which sources a capture runs (plan.hpp).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/registry.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {

// What would change what the host lacks; of the kind NONE where nothing would.
struct Remedy {
  ctprof_remedy kind = CTPROF_REMEDY_NONE;
  std::string what;

  friend bool operator==(const Remedy&, const Remedy&) = default;
};

// What stays a gap although the offer stands.
struct Lack {
  std::string sentence;
  Remedy remedy;
};

// An offer, and what its source said of it on this host.
struct ProbedOffer : Offer {
  Gap verdict = Gap::None;  // why it cannot; None: it can
  std::string reason{};
  Remedy remedy{};  // of the verdict
  std::vector<Lack> lacks{};
};

struct ProbedField {
  const MetricDef& def;
  std::vector<ProbedOffer> offers;  // in the registry's order: best rank first

  // The offer that a capture will use: the best that can. Null when none can.
  const ProbedOffer* chosen() const;
};

class Probed {
 public:
  Probed(const Registry& registry, const ctprof_host& host);
  Probed(Probed&&) noexcept = default;
  Probed& operator=(Probed&&) = delete;
  ~Probed();

  const Registry& registry() const { return *registry_; }
  const std::vector<ProbedField>& fields() const { return fields_; }
  // Null when no loaded plugin offers it.
  const ProbedField* find(std::string_view metric) const;
  // Plugins and sources that threw rather than answered, and with what words; nothing of theirs is
  // taken.
  const std::vector<Refusal>& thrown() const { return thrown_; }
  // The host as a plugin's functions are told of it, with that plugin's context.
  ctprof_host host_for(const Plugin& plugin) const;

 private:
  struct Opened {
    const Plugin* plugin;
    void* context = nullptr;
    std::string failure{};  // not empty: it could not be opened
    std::vector<ctprof_setting> settings{};
  };

  void open(const Plugin& plugin);
  // Why it could not be opened; empty when it could.
  std::string open(Opened& opened) const;
  ctprof_host host_for(const Opened& opened) const;
  void ask(const Opened& opened, const SourceTable& source);

  const Registry* registry_;
  ctprof_host host_;
  std::vector<Opened> opened_;
  std::vector<ProbedField> fields_;
  std::vector<Refusal> thrown_;
};

}  // namespace ctprof
