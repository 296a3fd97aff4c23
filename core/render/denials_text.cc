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

Denials find_denials(const Snapshot& snapshot) {
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

enum class NoteSubject { Other, ExitedThreads, Metrics, Rows };

NoteSubject classify_note(const std::string& note, const Denials& denials) {
  const auto ends_with = [&](const std::string& reason) { return note.ends_with(": " + reason); };
  if (std::ranges::any_of(denials.reasons, ends_with))
    return note.starts_with("exited threads ") ? NoteSubject::ExitedThreads : NoteSubject::Metrics;
  const auto is_from_plugin = [&](const std::string& plugin) {
    return note.starts_with(plugin + ": ");
  };
  const bool is_denial = note.find(" denied") != note.npos && lacks_capabilities(note);
  return is_denial && std::ranges::any_of(denials.plugins, is_from_plugin) ? NoteSubject::Rows
                                                                           : NoteSubject::Other;
}

std::string format_summary(const Denials& denials, const std::set<NoteSubject>& found) {
  std::vector<std::string> missing;
  if (found.contains(NoteSubject::ExitedThreads)) missing.emplace_back("exited threads");
  if (denials.metrics > 0) missing.push_back(format_count(denials.metrics, "metric"));
  if (found.contains(NoteSubject::Rows)) missing.emplace_back("values of other users' processes");
  std::string text = missing.back();
  missing.pop_back();
  if (!missing.empty()) text = join_texts(missing) + " and " + text;
  return "cannot read " + text + ": Permission denied";
}

}  // namespace

DividedNotes divide_notes(const Snapshot& snapshot) {
  DividedNotes notes;
  const Denials denials = find_denials(snapshot);
  std::set<NoteSubject> found;
  for (const std::string& note : snapshot.meta.notes)
    if (const NoteSubject subject = classify_note(note, denials); subject == NoteSubject::Other)
      notes.others.push_back(note);
    else
      found.insert(subject);
  if (!found.empty()) notes.summary = format_summary(denials, found);
  return notes;
}

}  // namespace ctprof
