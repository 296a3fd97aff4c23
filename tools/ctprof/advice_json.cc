// Advice as JSON.

#include <array>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "tools/ctprof/advice.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verdicts.hpp"

namespace ctprof::cli {
namespace {

// By ctprof_remedy.
constexpr std::array<std::string_view, 5> kKinds{"none", "command", "capabilities", "boot",
                                                 "kernel"};

template <class Names>
void put_names(JsonWriter& out, std::string_view key, const Names& names) {
  out.key(key);
  out.put('[');
  for (const std::string& name : names) {
    out.text(name);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

// "key":[{...},...], with `put` for what is in each object's braces.
template <class Items, class Put>
void put_objects(JsonWriter& out, std::string_view key, const Items& items, Put put) {
  out.key(key);
  out.put('[');
  for (const auto& item : items) {
    out.put('{');
    put(item);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void put_remedy(JsonWriter& out, const Remedy& remedy) {
  out.key("remedy");
  if (remedy.kind == CTPROF_REMEDY_NONE) return out.raw("null,");
  out.put('{');
  out.member("kind", kKinds[remedy.kind]);
  out.member("what", remedy.what);
  out.close('}');
  out.put(',');
}

void put_finding(JsonWriter& out, const Finding& finding) {
  out.member("state", finding.state);
  out.member("reason", finding.reason);
  put_remedy(out, finding.remedy);
  out.member("unfilled", finding.unfilled);
  put_names(out, "metrics", finding.metrics);
}

void put_diagnosis(JsonWriter& out, const Diagnosis& diagnosis) {
  out.member("name", diagnosis.plugin->name);
  out.member("fills", diagnosis.fills);
  out.member("second", diagnosis.second);
  out.member("refused", diagnosis.refused);
  put_objects(out, "findings", diagnosis.findings,
              [&](const Finding& finding) { put_finding(out, finding); });
}

void put_gain(JsonWriter& out, const Gain& gain) {
  put_remedy(out, gain.remedy);
  put_names(out, "plugins", gain.plugins);
  put_names(out, "filled", gain.filled);
  put_names(out, "fuller", gain.fuller);
  put_names(out, "better", gain.better);
}

void put_command(JsonWriter& out, const Command& command) {
  out.member("command", command.text);
  put_objects(out, "gains", command.gains, [&](const Gain& gain) { put_gain(out, gain); });
}

}  // namespace

std::string json_of(const Advice& advice, const Registry& registry) {
  JsonWriter out(Escape::Unshowable);
  out.raw("{\"schema\":1,\"live\":");
  out.boolean(advice.live);
  out.put(',');
  put_objects(out, "plugins", advice.diagnoses,
              [&](const Diagnosis& diagnosis) { put_diagnosis(out, diagnosis); });
  put_refused(out, registry);
  put_objects(out, "commands", advice.commands,
              [&](const Command& command) { put_command(out, command); });
  put_names(out, "notes", advice.notes);
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

}  // namespace ctprof::cli
