#include "tools/ctprof/advice.hpp"

#include <set>
#include <utility>

#include "core/render/printable.hpp"
#include "tools/ctprof/setcap.hpp"

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

}  // namespace ctprof::cli
