#include "core/render/denials_text.hpp"

#include <algorithm>
#include <set>

#include "core/base/text.hpp"
#include "core/render/report_sentences.hpp"

namespace ctprof {
namespace {

// The denials that capabilities would remove.
struct Denials {
  std::size_t metrics = 0;        // metrics that no source could read
  std::set<std::string> reasons;  // the reasons of these metrics
  std::set<std::string> plugins;  // plugins whose sources were denied the values of some rows
};

// Returns whether capabilities would remove a denial. Snapshots store no remedy, but the reasons of
// sources name the capabilities, or root.
bool lacks_capabilities(const std::string& reason) {
  const auto contains = [&](const char* words) { return reason.find(words) != reason.npos; };
  return (contains("CAP_") || contains("as root")) && !contains(" despite ");
}

Denials denials_of(const Snapshot& snapshot) {
  Denials found;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const Provenance& source = column.provenance;
      if (source.plugin.empty() && source.gap == Gap::Denied && lacks_capabilities(source.reason)) {
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
  const bool is_denial = note.find(" denied") != note.npos && lacks_capabilities(note);
  return is_denial && std::ranges::any_of(denials.plugins, is_of) ? About::Rows : About::Other;
}

std::string line(const Denials& denials, const std::set<About>& found) {
  std::vector<std::string> missing;
  if (found.contains(About::Exits)) missing.emplace_back("exited threads");
  if (denials.metrics > 0) missing.push_back(counted(denials.metrics, "metric"));
  if (found.contains(About::Rows)) missing.emplace_back("values of other users' processes");
  std::string text = missing.back();
  missing.pop_back();
  if (!missing.empty()) text = joined(missing) + " and " + text;
  return "cannot read " + text + ": Permission denied";
}

}  // namespace

NotesByRights divide_notes(const Snapshot& snapshot) {
  NotesByRights notes;
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

}  // namespace ctprof
