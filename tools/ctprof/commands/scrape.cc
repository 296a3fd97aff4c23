#include "tools/ctprof/commands/scrape.hpp"

#include <array>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/compare/report/report.hpp"
#include "core/registry/identity.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/live/window_copy.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kMinIntervalNs = kNsPerSecond, kMaxIntervalNs = 60 * kNsPerSecond;

// Returns the metrics to read. For one key of a map, reads the map.
std::optional<std::vector<std::string>> metrics_to_read(const Registry& registry,
                                                        const ScrapeOptions& options) {
  if (options.all_metrics) return std::nullopt;
  std::vector<std::string> names = list_screen_metrics(registry);
  for (const std::string& name : options.spec.metrics)
    if (name != kThreadCount) names.push_back(name.substr(0, name.find('[')));
  return names;
}

}  // namespace

Scraper::Scraper(const Registry& registry, ScrapeOptions options, Session session)
    : registry_(&registry),
      options_(std::move(options)),
      session_(std::move(session)),
      derived_(registry.derived_metrics_for({})),
      latest_read_ns_(monotonic_ns() + kMaxIntervalNs) {
  options_.spec.busiest = false;
  options_.spec.tests_rows = false;
}

Result<Scraper> Scraper::begin(const Registry& registry, ScrapeOptions options) {
  CaptureOptions capture;
  capture.is_window = true;
  capture.jobs = options.jobs == 0 ? 1 : options.jobs;
  capture.metrics = metrics_to_read(registry, options);
  capture.level = Level::Fast;
  CTPROF_TRY_VALUE(auto session, Session::open(registry, std::move(capture)));
  CTPROF_TRY(session.begin());
  return Scraper(registry, std::move(options), std::move(session));
}

// The session owns the window and continues from its end, so the differences are computed in a
// copy.
Result<void> Scraper::close_window() {
  const auto session_window = session_.next_window();
  earliest_read_ns_ = monotonic_ns() + kMinIntervalNs;
  latest_read_ns_ = monotonic_ns() + kMaxIntervalNs;
  if (!session_window) return session_window.error();
  CTPROF_TRY_VALUE(const auto window,
                   live::copy_differences(**session_window, registry_->vocabulary()));
  const std::array<const Snapshot*, 1> runs{&window};
  CTPROF_TRY_VALUE(const auto report,
                   Report::make(runs, options_.spec, {&registry_->rules(), derived_}));
  totals_.add(make_series(report, {options_.all_metrics, CounterForm::Total}));
  return {};
}

Result<void> Scraper::drain() {
  if (monotonic_ns() >= latest_read_ns_) return close_window();
  session_.drain();
  return {};
}

Result<std::string> Scraper::collect_text(ExpositionFormat form) {
  if (monotonic_ns() >= earliest_read_ns_) {
    const auto closed = close_window();
    read_error_ = closed ? std::nullopt : std::optional(closed.error());
  }
  if (read_error_) return *read_error_;
  std::vector<SeriesFamily> families = totals_.families();
  omitted_series_ = limit_series(families, options_.max_series);
  StringSink sink;
  CTPROF_TRY(write_exposition(families, form, sink));
  return {boost::system::in_place_value, sink.text()};
}

}  // namespace ctprof::cli
