#include "tools/ctprof/commands/scrape.hpp"

#include <array>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/compare/report/report.hpp"
#include "core/file/file.hpp"
#include "core/file/read/load.hpp"
#include "core/registry/identity.hpp"
#include "core/window/happened.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kLeastNs = 1'000'000'000, kMostNs = 60'000'000'000;

// Returns the metrics to read. For one key of a map, reads the map.
std::optional<std::vector<std::string>> metrics_to_read(const Registry& registry,
                                                        const ScrapeOptions& options) {
  if (options.all_metrics) return std::nullopt;
  std::vector<std::string> names = metrics_of_screen(registry);
  for (const std::string& name : options.spec.metrics)
    if (name != kThreadCount) names.push_back(name.substr(0, name.find('[')));
  return names;
}

}  // namespace

Scraper::Scraper(const Registry& registry, ScrapeOptions options, Session session)
    : registry_(&registry),
      options_(std::move(options)),
      session_(std::move(session)),
      derived_(registry.derived_with({})),
      must_read_ns_(monotonic_ns() + kMostNs) {
  options_.spec.busiest = false;
  options_.spec.judge_rows = false;
}

Result<Scraper> Scraper::begin(const Registry& registry, ScrapeOptions options) {
  CaptureOptions capture;
  capture.window = true;
  capture.jobs = options.jobs == 0 ? 1 : options.jobs;
  capture.metrics = metrics_to_read(registry, options);
  capture.level = Level::Fast;
  auto session = Session::open(registry, std::move(capture));
  if (!session) return session.error();
  if (auto begun = session->begin(); !begun) return begun.error();
  return Scraper(registry, std::move(options), std::move(*session));
}

// The session owns the window and continues from its end, so the differences are computed in a
// copy.
Result<void> Scraper::take_window() {
  const auto lap = session_.lap();
  may_read_ns_ = monotonic_ns() + kLeastNs;
  must_read_ns_ = monotonic_ns() + kMostNs;
  if (!lap) return lap.error();
  const auto bytes = block_of(**lap, 1);
  if (!bytes) return bytes.error();
  auto window = load_bytes(*bytes, CaptureName{"a window of this host"}, registry_->vocabulary());
  if (!window) return window.error();
  to_differences(*window);
  const std::array<const Snapshot*, 1> runs{&*window};
  const auto report = Report::make(runs, options_.spec, {&registry_->rules(), derived_});
  if (!report) return report.error();
  totals_.add(series_of(*report, {options_.all_metrics, Counted::Total}));
  return {};
}

Result<void> Scraper::drain() {
  if (monotonic_ns() >= must_read_ns_) return take_window();
  session_.drain();
  return {};
}

Result<std::string> Scraper::text(Exposition form) {
  if (monotonic_ns() >= may_read_ns_) {
    const auto taken = take_window();
    failed_ = taken ? std::nullopt : std::optional(taken.error());
  }
  if (failed_) return *failed_;
  std::vector<SeriesFamily> families = totals_.families();
  cut_ = cut_series(families, options_.most_series);
  StringSink sink;
  if (auto written = write_exposition(families, form, sink); !written) return written.error();
  return {boost::system::in_place_value, sink.text()};
}

}  // namespace ctprof::cli
