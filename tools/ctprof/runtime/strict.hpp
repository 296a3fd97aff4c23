// --strict: collects requested data that is missing while a command works, for the exit status and
// one message.
//
//   Shortfall shortfall(options.strict, options.metrics.has_value());
//   shortfall.add_refused(*registry);
//   shortfall.add(*snapshot);
//   return shortfall.report(kSuccess);  // kDataMissing, if anything is missing
//
// Data is missing if plugins were refused, sources were unusable or failed, metrics were requested
// by name or need more privileges, threads exited unseen, or a recorder lost samples. A metric that
// the kernel does not support counts only if the user named it.
//
// Without --strict nothing is collected; notes report all of this in any case.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/capture/active_recorders.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

class Shortfall {
 public:
  // Nothing is collected unless `is_strict`. `selects_metrics`: the user named metrics.
  Shortfall(bool is_strict, bool selects_metrics)
      : is_strict_(is_strict), selects_metrics_(selects_metrics) {}

  void add_refused(const Registry& registry) { add(registry.refusals()); }
  // Adds sources that take no part, and plugins that were refused.
  void add(const std::vector<Refusal>& refusals);
  void add(const Snapshot& snapshot);
  void add(const RecordedWindow& recorded);

  bool is_enabled() const { return is_strict_; }
  // Prints one message about all missing data, also with --quiet. Returns kDataMissing if data is
  // missing and `status` is kSuccess, and `status` otherwise.
  int report(int status) const;

 private:
  void add(std::string sentence);
  void add_metrics(const Snapshot& snapshot);
  void add_denied(const Table& table);
  void add_lost_threads(const Window& window);

  bool is_strict_, selects_metrics_;
  std::vector<std::string> missing_;  // without duplicates
};

}  // namespace ctprof::cli
