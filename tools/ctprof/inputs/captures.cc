#include "tools/ctprof/inputs/captures.hpp"

#include <utility>

#include "core/tables/capture_mark.hpp"
#include "core/window/happened.hpp"
#include "tools/ctprof/inputs/given.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/redaction.hpp"

namespace ctprof::cli {
namespace {

// Tables never need a snapshot of this host.
Result<Snapshot> no_capture_for_tables() { return Error{"tables require existing captures"}; }

Result<Snapshot> window_between(const Options& options, const Vocabulary& vocabulary) {
  auto sides = read_sides(options, vocabulary, &no_capture_for_tables);
  if (!sides) return sides.error();
  return std::move(sides->runs.front());
}

}  // namespace

Result<Captures> Captures::find(const Options& options, const Vocabulary& vocabulary) {
  auto asked = look_up(options);
  if (!asked) return asked.error();
  Given& given = asked->front().front();
  Captures captures(options, vocabulary);
  auto key = key_of_redaction(options);
  if (!key) return key.error();
  captures.key_ = *key;
  if (given.form == Form::Span) {
    auto span = SpanWindows::find(given.text, given.span);
    if (!span) return span.error();
    captures.span_ = std::move(*span);
  } else if (given.form == Form::Pair) {
    auto window = window_between(options, vocabulary);
    if (!window) return window.error();
    if (window->window) to_differences(*window);
    captures.kept_.push_back(std::move(*window));
    captures.is_kept_ = true;
  }
  for (Given& one : asked->front())
    captures.files_.insert(captures.files_.end(), one.files.begin(), one.files.end());
  return captures;
}

Result<Captures::Told> Captures::load(std::size_t source, const TakeCapture& take) const {
  const auto take_differences = [&](Snapshot capture) {
    if (capture.window) to_differences(capture);
    return take(std::move(capture));
  };
  if (!span_) {
    const std::string& file = files_[source];
    return naming({&file, 1}, "reading",
                  [&] { return take_captures(file, *vocabulary_, take_differences); });
  }
  auto window = span_->read(source, *vocabulary_);
  if (!window) return window.error();
  if (auto taken = take_differences(std::move(*window)); !taken) return taken.error();
  return Told{};
}

// Returns whether the outline was sufficient. A file with one window stores its columns before its
// rows.
bool Captures::look_at_outline(std::size_t source,
                               const std::function<void(const Snapshot&)>& look) const {
  if (span_ || files_[source] == "-") return false;
  auto outline = load_outline(files_[source]);
  if (!outline || !*outline) return false;
  to_differences(**outline);
  look(**outline);
  return true;
}

// For one file, returns its error. For several, skips unreadable ones, and returns the last error
// if none could be read.
Result<void> Captures::each_source(const std::function<Result<void>(std::size_t)>& visit,
                                   bool tells_failures) {
  std::size_t visited = 0;
  Result<void> last;
  for (std::size_t source = 0; source < sources(); ++source) {
    last = visit(source);
    if (last) {
      ++visited;
      continue;
    }
    if (is_one_file() || is_stopped_) return last;
    if (tells_failures) fail(last.error().text + "; it is left out");
  }
  return visited > 0 ? Result<void>() : last;
}

// Keeps standard input, which cannot be read again, and a single capture, which need not be.
Result<void> Captures::outlines(const std::function<void(const Snapshot&)>& look) {
  for (const Snapshot& capture : kept_) look(capture);
  if (is_kept_) return {};
  const bool keeps_all = is_one_file() && files_.front() == "-";
  std::size_t found = 0;
  const auto read = each_source(
      [&](std::size_t source) -> Result<void> {
        if (look_at_outline(source, look)) return ++found, Result<void>();
        auto told = load(source, [&](Snapshot capture) -> Result<void> {
          look(capture);
          if (++found > 1 && !keeps_all)
            kept_.clear();
          else
            kept_.push_back(std::move(capture));
          return {};
        });
        if (!told) return told.error();
        told_ = std::move(*told);
        return {};
      },
      false);
  if (!read) return read;
  is_kept_ = keeps_all || (found == 1 && kept_.size() == 1);
  if (!is_kept_) kept_.clear();
  return {};
}

bool Captures::is_new(const Snapshot& capture) {
  return capture.meta.boot_id.empty() || taken_.insert(mark_of(capture).capture).second;
}

void Captures::tell(const Told& sentences) const {
  for (const std::string& sentence : sentences) note(*options_, sentence);
}

Result<void> Captures::hand_over(Snapshot capture, const TakeCapture& take) {
  tell(capture.told);
  if (!is_new(capture)) {
    fail("capture " + mark_of(capture).capture + " is a duplicate; it is skipped");
    return {};
  }
  if (key_) redact_with(*key_, capture, *vocabulary_, *options_);
  auto taken = take(std::move(capture));
  is_stopped_ = taken.has_error();
  return taken;
}

Result<void> Captures::take(const TakeCapture& take) {
  if (span_) tell(span_->told());
  if (is_kept_) {
    for (Snapshot& capture : std::exchange(kept_, {}))
      if (auto taken = hand_over(std::move(capture), take); !taken) return taken;
    tell(told_);
    return {};
  }
  return each_source(
      [&](std::size_t source) -> Result<void> {
        const auto told =
            load(source, [&](Snapshot capture) { return hand_over(std::move(capture), take); });
        if (!told) return told.error();
        tell(*told);
        return {};
      },
      true);
}

}  // namespace ctprof::cli
