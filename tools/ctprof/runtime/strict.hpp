// --strict: what was asked for and could not be had, gathered while a verb works, for the exit
// status and one sentence.
//
//   Shortfall shortfall(options);
//   shortfall.add_refused(*registry);
//   shortfall.add(*snapshot);
//   return shortfall.tell(kFine);  // kPartial, if anything is missing
//
// What counts: plugins that were refused, sources that took no part or failed, metrics that were
// named or need more rights, threads that ended unseen, and samples that a recorder lost. What a
// kernel does not have counts only where it was named.
//
// Without --strict nothing is gathered, and notes tell all of this as they do anyway.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/capture/records.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

class Shortfall {
 public:
  explicit Shortfall(const Options& options) : options_(&options) {}

  void add_refused(const Registry& registry) { add(registry.refused()); }
  // Sources that took no part, plugins that were refused.
  void add(const std::vector<Refusal>& refusals);
  void add(const Snapshot& snapshot);
  void add(const RecordedWindow& recorded);

  bool is_wanted() const { return options_->strict; }
  // Says what is missing in one sentence, also with --quiet. Returns kPartial if anything is, and
  // `status` else, or if that is something other than kFine.
  int tell(int status) const;

 private:
  void add(std::string what);
  void add_metrics(const Snapshot& snapshot);
  void add_denied(const Table& table);
  void add_ends(const Window& window);

  const Options* options_;
  std::vector<std::string> missing_;  // each once
};

}  // namespace ctprof::cli
