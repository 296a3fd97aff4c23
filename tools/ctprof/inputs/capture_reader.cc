#include "tools/ctprof/inputs/capture_reader.hpp"

#include <utility>

#include "core/file/file.hpp"
#include "core/tables/capture_fields.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/inputs/capture_arguments.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/redaction.hpp"

namespace ctprof::cli {
namespace {

// Tables never need a snapshot of this host.
Result<Snapshot> reject_host_snapshot_for_tables() {
  return Error{"tables require existing captures"};
}

Result<Snapshot> make_pair_window_for_tables(const InputOptions& options,
                                             const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(auto sides, read_sides(options, vocabulary, &reject_host_snapshot_for_tables));
  return std::move(sides.runs.front());
}

}  // namespace

Result<CaptureReader> CaptureReader::find(const InputOptions& options,
                                          const RedactionOptions& redaction,
                                          const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(auto sides, resolve_arguments(options));
  CaptureArgument& argument = sides.front().front();
  CaptureReader captures(options, vocabulary);
  CTPROF_TRY_VALUE(auto key, load_redaction_key(redaction));
  captures.key_ = key;
  if (argument.form == ArgumentForm::Span) {
    CTPROF_TRY_VALUE(auto span, SpanWindows::find(argument.text, argument.span));
    captures.span_ = std::move(span);
  } else if (argument.form == ArgumentForm::Pair) {
    CTPROF_TRY_VALUE(auto window, make_pair_window_for_tables(options, vocabulary));
    if (window.window) convert_to_differences(window);
    captures.stored_.push_back(std::move(window));
    captures.is_stored_ = true;
  }
  for (CaptureArgument& argument : sides.front())
    captures.files_.insert(captures.files_.end(), argument.files.begin(), argument.files.end());
  return captures;
}

Result<CaptureReader::Notes> CaptureReader::load(std::size_t source,
                                                 const CaptureConsumer& take) const {
  const auto take_differences = [&](Snapshot capture) {
    if (capture.window) convert_to_differences(capture);
    return take(std::move(capture));
  };
  if (!span_) {
    const std::string& file = files_[source];
    return with_error_context({&file, 1}, "reading", [&]() -> Result<Notes> {
      CTPROF_TRY_VALUE(const auto opened, CaptureFile::open(file));
      return opened.load_each(*vocabulary_, take_differences);
    });
  }
  CTPROF_TRY_VALUE(auto window, span_->read(source, *vocabulary_));
  CTPROF_TRY(take_differences(std::move(window)));
  return Notes{};
}

// Returns whether the outline was sufficient. A file with one window stores its columns before its
// rows.
bool CaptureReader::visit_outline(std::size_t source,
                                  const std::function<void(const Snapshot&)>& visit) const {
  if (span_ || files_[source] == "-") return false;
  const auto file = CaptureFile::open(files_[source]);
  if (!file) return false;
  auto outline = file->load_outline();
  if (!outline || !*outline) return false;
  convert_to_differences(**outline);
  visit(**outline);
  return true;
}

// For one file, returns its error. For several, skips unreadable ones, and returns the last error
// if none could be read.
Result<void> CaptureReader::visit_sources(const std::function<Result<void>(std::size_t)>& visit,
                                          bool reports_failures) {
  std::size_t visited = 0;
  Result<void> last;
  for (std::size_t source = 0; source < count_sources(); ++source) {
    last = visit(source);
    if (last) {
      ++visited;
      continue;
    }
    if (is_one_file() || is_stopped_) return last;
    if (reports_failures) fail(last.error().text + "; it is left out");
  }
  return visited > 0 ? Result<void>() : last;
}

// Keeps standard input, which cannot be read again, and a single capture, which need not be.
Result<void> CaptureReader::visit_outlines(const std::function<void(const Snapshot&)>& visit) {
  for (const Snapshot& capture : stored_) visit(capture);
  if (is_stored_) return {};
  const bool stores_all = is_one_file() && files_.front() == "-";
  std::size_t found = 0;
  CTPROF_TRY(visit_sources(
      [&](std::size_t source) -> Result<void> {
        if (visit_outline(source, visit)) return ++found, Result<void>();
        auto notes = load(source, [&](Snapshot capture) -> Result<void> {
          visit(capture);
          if (++found > 1 && !stores_all)
            stored_.clear();
          else
            stored_.push_back(std::move(capture));
          return {};
        });
        if (!notes) return notes.error();
        end_notes_ = std::move(*notes);
        return {};
      },
      false));
  is_stored_ = stores_all || (found == 1 && stored_.size() == 1);
  if (!is_stored_) stored_.clear();
  return {};
}

bool CaptureReader::is_first_occurrence(const Snapshot& capture) {
  return capture.meta.boot_id.empty() ||
         seen_ids_.insert(make_capture_fields(capture).capture).second;
}

void CaptureReader::print_notes(const Notes& sentences) const {
  for (const std::string& sentence : sentences) print_note(*options_, sentence);
}

Result<void> CaptureReader::deliver(Snapshot capture, const CaptureConsumer& take) {
  print_notes(capture.load_messages);
  if (!is_first_occurrence(capture)) {
    fail("capture " + make_capture_fields(capture).capture + " is a duplicate; it is skipped");
    return {};
  }
  if (key_) redact_with(*key_, capture, *vocabulary_, *options_);
  auto taken = take(std::move(capture));
  is_stopped_ = taken.has_error();
  return taken;
}

Result<void> CaptureReader::read_all(const CaptureConsumer& consumer) {
  if (span_) print_notes(span_->messages());
  if (is_stored_) {
    for (Snapshot& capture : std::exchange(stored_, {}))
      CTPROF_TRY(deliver(std::move(capture), consumer));
    print_notes(end_notes_);
    return {};
  }
  return visit_sources(
      [&](std::size_t source) -> Result<void> {
        CTPROF_TRY_VALUE(const auto notes, load(source, [&](Snapshot capture) {
                           return deliver(std::move(capture), consumer);
                         }));
        print_notes(notes);
        return {};
      },
      true);
}

}  // namespace ctprof::cli
