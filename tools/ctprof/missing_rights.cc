#include "tools/ctprof/missing_rights.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/setcap.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kLongestCommand = 300;

// What was denied, by who says so.
struct Denials {
  std::size_t metrics = 0;        // that no source could read
  std::set<std::string> reasons;  // of these
  std::set<std::string> plugins;  // that were denied some rows
};

Denials denials_of(const Snapshot& snapshot) {
  Denials found;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const Provenance& source = column.provenance;
      if (source.plugin.empty() && source.gap == Gap::Denied) {
        ++found.metrics;
        found.reasons.insert(source.reason);
      }
      for (std::uint32_t row = 0; !source.plugin.empty() && row < column.rows(); ++row)
        if (column.gap(row) == Gap::Denied) {
          found.plugins.insert(source.plugin);
          break;
        }
    }
  return found;
}

enum class About { Other, Exits, Metrics, Rows };

About about(const std::string& note, const Denials& denials) {
  const auto ends_with = [&](const std::string& reason) { return note.ends_with(": " + reason); };
  if (std::ranges::any_of(denials.reasons, ends_with))
    return note.starts_with("exited threads ") ? About::Exits : About::Metrics;
  const auto is_of = [&](const std::string& plugin) { return note.starts_with(plugin + ": "); };
  const bool is_denial = note.find(" denied") != note.npos;
  return is_denial && std::ranges::any_of(denials.plugins, is_of) ? About::Rows : About::Other;
}

// The words that this process was started with, for a shell; empty where they cannot be printed.
std::string own_command() {
  sdk::TextFile file;
  const auto words = file.read(AT_FDCWD, "/proc/self/cmdline");
  if (!words) return {};
  std::string command;
  for (std::string_view rest = words.value; !rest.empty();)
    command += " " + quoted(std::string(sdk::take(rest, '\0')));
  return command.size() > kLongestCommand || printable(command) != command ? "" : command;
}

std::string line(const Denials& denials, const std::set<About>& found) {
  std::vector<std::string> missing;
  if (found.contains(About::Exits)) missing.emplace_back("exited threads");
  if (denials.metrics > 0) missing.push_back(counted(denials.metrics, "metric"));
  if (found.contains(About::Rows)) missing.emplace_back("values of other users' processes");
  std::string text = missing.back();
  missing.pop_back();
  if (!missing.empty()) text = joined(missing) + " and " + text;
  const std::string command = own_command();
  return "cannot read " + text + ": Permission denied; run as root" +
         (command.empty() ? "" : ": sudo" + command) + " (ctprof doctor lists more)";
}

struct ForUser {
  std::string denied;
  std::vector<std::string> others;
};

ForUser divide(const Snapshot& snapshot) {
  ForUser notes;
  const Denials denials = denials_of(snapshot);
  std::set<About> found;
  for (const std::string& note : snapshot.meta.notes)
    if (const About what = about(note, denials); what == About::Other)
      notes.others.push_back(note);
    else
      found.insert(what);
  if (!found.empty()) notes.denied = line(denials, found);
  return notes;
}

}  // namespace

std::vector<std::string> notes_for_user(const Snapshot& snapshot, const Options& options) {
  if (::geteuid() == 0 || options.verbose) return snapshot.meta.notes;
  ForUser notes = divide(snapshot);
  if (!notes.denied.empty()) notes.others.insert(notes.others.begin(), notes.denied);
  return notes.others;
}

std::string missing_rights(const Snapshot& snapshot) {
  return ::geteuid() == 0 ? std::string() : divide(snapshot).denied;
}

}  // namespace ctprof::cli
