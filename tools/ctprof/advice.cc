#include "tools/ctprof/advice.hpp"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/render/printable.hpp"
#include "tools/ctprof/setcap.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verdicts.hpp"

namespace ctprof::cli {
namespace {

// Leaves out a command that cannot be printed as it is: what is pasted would be another command.
void add_command(Advice& advice, Command command) {
  if (const std::string shown = printable(command.text); shown == command.text)
    advice.commands.push_back(std::move(command));
  else
    advice.notes.push_back(
        "a command is left out, for it has letters that cannot be shown as they are: " + shown);
}

void add_setcap(Advice& advice) {
  Command command;
  std::set<std::string> wanted;
  for (const Gain& gain : advice.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_CAPABILITIES && !gain.for_root_alone)
      wanted.insert(gain.remedy.what), command.gains.push_back(gain);
  Setcap setcap = setcap_for(wanted);
  advice.notes = std::move(setcap.notes);
  command.text = std::move(setcap.command);
  if (!command.text.empty()) add_command(advice, std::move(command));
}

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

Advice advice_on(const Probed& probed, bool live) {
  Advice advice{.live = live,
                .diagnoses = diagnose(probed),
                .gains = gains(probed),
                .commands = {},
                .notes = {}};
  if (!live) return advice;
  add_setcap(advice);
  for (const Gain& gain : advice.gains)
    if (gain.remedy.kind == CTPROF_REMEDY_COMMAND) add_command(advice, {gain.remedy.what, {gain}});
  return advice;
}

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
