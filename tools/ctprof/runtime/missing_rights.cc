#include "tools/ctprof/runtime/missing_rights.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/render/denials_text.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/setcap.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kLongestCommand = 300;

// Returns the command line of this process, quoted for a shell. Returns an empty string if it
// cannot be printed.
std::string own_command_line() {
  sdk::TextFile file;
  const auto words = file.read(AT_FDCWD, "/proc/self/cmdline");
  if (!words) return {};
  std::string command;
  for (std::string_view rest = words.value; !rest.empty();)
    command += " " + quote_for_shell(std::string(sdk::take(rest, '\0')));
  return command.size() > kLongestCommand || make_printable(command) != command ? "" : command;
}

// Never suggests a command that would run the user's COMMAND as root, or that cannot work.
std::string remedy_for(bool runs_command) {
  if (runs_command || !sudo_would_work()) return "; see `ctprof doctor`";
  const std::string command = own_command_line();
  return "; run as root" + (command.empty() ? "" : ": sudo" + command) +
         " (ctprof doctor lists more)";
}

}  // namespace

std::vector<std::string> notes_for_user(const Snapshot& snapshot, const CommonOptions& options,
                                        bool runs_command) {
  if (::geteuid() == 0 || options.verbose || runs_privileged()) return snapshot.meta.notes;
  DividedNotes notes = divide_notes(snapshot);
  if (!notes.summary.empty())
    notes.others.insert(notes.others.begin(), notes.summary + remedy_for(runs_command));
  return notes.others;
}

}  // namespace ctprof::cli
