// The content of `export --to prometheus --listen`: counters for each group since this process
// started. They only grow.
//
// Each request reads the host, but at most once per second: until then the response repeats the
// previous one. A window lasts from one reading to the next, so that threads that exit in between
// are counted; its metrics are added to the totals. Without requests the host is read once a
// minute, which bounds the memory for exited threads.
//
// Threads: one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/capture.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/registry.hpp"
#include "core/tables/group_series.hpp"

namespace ctprof::cli {

struct ScrapeOptions {
  Spec spec{};
  bool all_metrics = false;
  unsigned jobs = 0;
  std::size_t max_series = 0;
};

class Scraper {
 public:
  // Reads the host for the first time. REQUIRES: the registry outlives this object.
  static Result<Scraper> begin(const Registry& registry, ScrapeOptions options);

  // Drains the records of exited threads. Must be called a few times per second.
  Result<void> drain();
  // Returns the totals so far in that form. Fails if the host could not be read.
  Result<std::string> collect_text(ExpositionFormat form);

  const std::vector<Refusal>& refused() const { return session_.refusals(); }
  // The groups that the last response omitted, and their number of series.
  const OmittedSeries& omitted_series() const { return omitted_series_; }

 private:
  Scraper(const Registry& registry, ScrapeOptions options, Session session);
  Result<void> close_window();

  const Registry* registry_;
  ScrapeOptions options_;
  Session session_;
  std::vector<DerivedDef> derived_;
  SeriesTotals totals_;
  OmittedSeries omitted_series_;
  std::optional<Error> read_error_;                      // error of the last reading
  std::uint64_t earliest_read_ns_ = 0, latest_read_ns_;  // earliest and latest time of the next
                                                         // reading, by the monotonic clock
};

}  // namespace ctprof::cli
