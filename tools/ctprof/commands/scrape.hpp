// What `export --to prometheus --listen` answers: what happened on this host since it was started,
// group by group, as counters that only grow.
//
// Each answer reads the host, but never sooner than a second after the last reading: until then the
// answer is the last one. A window lasts from one reading to the next, so that threads that ended
// in between are counted, and its figures are added to those before. If nobody asks, the host is
// read once a minute, so that what is remembered of threads that ended stays small.
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
#include "core/compare/asked/spec.hpp"
#include "core/registry/registry.hpp"
#include "core/tables/group_series.hpp"

namespace ctprof::cli {

struct ScrapeOptions {
  Spec spec{};
  bool all_metrics = false;
  unsigned jobs = 0;
  std::size_t most_series = 0;
};

class Scraper {
 public:
  // Reads the host for the first time. REQUIRES: the registry outlives this.
  static Result<Scraper> begin(const Registry& registry, ScrapeOptions options);

  // Takes in what ended meanwhile; to be called a few times a second.
  Result<void> drain();
  // The figures until now, in that form. The error is that of reading the host.
  Result<std::string> text(Exposition form);

  const std::vector<Refusal>& refused() const { return session_.refused(); }
  // How many groups are left out by the last answer, and their series.
  const SeriesCut& cut() const { return cut_; }

 private:
  Scraper(const Registry& registry, ScrapeOptions options, Session session);
  Result<void> take_window();

  const Registry* registry_;
  ScrapeOptions options_;
  Session session_;
  std::vector<DerivedDef> derived_;
  SeriesTotals totals_;
  SeriesCut cut_;
  std::optional<Error> failed_;                   // the last reading
  std::uint64_t may_read_ns_ = 0, must_read_ns_;  // from when on, by the monotonic clock
};

}  // namespace ctprof::cli
