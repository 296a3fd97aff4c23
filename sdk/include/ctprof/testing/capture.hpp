// What a test requests from a capture, and its result.
//
//   const testing::Capture done = testing::capture(ctprof_plugin, tree);
//   done.rows("hello_switches")             // {"7/7": 40}
//   done.cell("hello_switches", "7/7")      // 40
//   done.refusal("hello_switches").reason   // "" unless `probe` refused it
//   done.failures()                         // empty unless a call failed or violated the contract
//
// Contents:   Request, Refusal, Capture, rate.
// See also:   ctprof/testing.hpp, the header to include.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/testing/cells.hpp"

namespace ctprof::sdk::testing {

namespace detail {
class Session;
}

// What a capture requests, and what the plugin finds in addition to the tree.
//
//   const auto done = testing::capture(ctprof_plugin, tree, testing::Clock(),
//                                      {.metrics = {"hello_depth"},
//                                       .settings = {{"levels", "3"}},
//                                       .inputs = {{"state", {{"7/7", "S"}, {"7/8", "Z"}}}}});
//
struct Request {
  // The metrics to capture; empty: all that the plugin offers. Columns of other metrics are not
  // requested: `if (column)` is false.
  std::vector<std::string> metrics{};
  // Values of options, as `--set` sets them: {{"depth", "3"}}.
  std::map<std::string, std::string> settings{};
  // Columns of other plugins that the sources read: {{"state", {{"7/7", "S"}}}}. Rows that are not
  // listed are Unsupported.
  std::map<std::string, Rows> inputs{};
  // CTPROF_HOST_LIVE for a source that tests host.live(); the tree is then read as the host.
  ctprof_host_flags flags = 0;
};

// Why a source refused a metric.
//
//   const testing::Refusal refusal = done.refusal("hello_switches");
//   refusal.gap == Gap::None      // it was not refused
//
struct Refusal {
  Gap gap = Gap::None;
  std::string reason;
  // The change that would make the metric available; empty: none is known.
  std::string remedy;
};

// The result of a capture. It owns everything that it returns.
class Capture {
 public:
  // Returns the cells of a metric by row. A metric that `probe` refused has the gap of its refusal
  // in each row. Throws std::logic_error if no source of the plugin offers the metric.
  const Rows& rows(const std::string& metric) const {
    const auto found = rows_.find(metric);
    if (found == rows_.end()) throw std::logic_error("no captured metric '" + metric + "'");
    return found->second;
  }
  // Returns one cell. Throws std::logic_error if the metric or the row does not exist.
  const Cell& cell(const std::string& metric, const std::string& row) const {
    const auto found = rows(metric).find(row);
    if (found == rows(metric).end()) throw std::logic_error("no row '" + row + "' in the tree");
    return found->second;
  }
  // Returns why no source fills the metric; the gap is None if one does.
  Refusal refusal(const std::string& metric) const {
    const auto found = refusals_.find(metric);
    return found == refusals_.end() ? Refusal{} : found->second;
  }
  // Returns what `probe` reported with `lacks`, for each metric.
  const std::map<std::string, std::vector<std::string>>& lacks() const { return lacks_; }
  // Returns one sentence for each call that failed and each violation of the contract:
  // "NAME OF THE SOURCE: SENTENCE". Every test expects none, unless it tests a failure.
  const std::vector<std::string>& failures() const { return failures_; }
  // Returns the messages to the user: remarks of `collect`, and notes of `summarise`.
  const std::vector<std::string>& notes() const { return notes_; }
  // Returns the fields that `summarise` wrote, by "KEY OF THE SUMMARY.FIELD", as text.
  const std::map<std::string, std::string>& summary() const { return summary_; }
  // The time of the clock at the capture.
  std::uint64_t at_ns() const { return at_ns_; }

 private:
  friend class detail::Session;

  std::map<std::string, Rows> rows_;
  std::map<std::string, Refusal> refusals_;
  std::map<std::string, std::vector<std::string>> lacks_;
  std::vector<std::string> failures_, notes_;
  std::map<std::string, std::string> summary_;
  std::uint64_t at_ns_ = 0;
};

// Returns the increase of a counter per second between two captures, as reports show it. NoBase if
// the first capture lacks the row, WentBackwards if the counter decreased, or the gap of a cell.
// Throws std::logic_error if no time passed between the captures.
inline Cell rate(const Capture& before, const Capture& after, const std::string& metric,
                 const std::string& row) {
  if (after.at_ns() <= before.at_ns()) throw std::logic_error("the clock did not advance");
  const Cell& now = after.cell(metric, row);
  const auto base = before.rows(metric).find(row);
  if (now.gap() != Gap::None) return now;
  if (base == before.rows(metric).end() || base->second.gap() != Gap::None) return Gap::NoBase;
  if (now.bits() < base->second.bits()) return Gap::WentBackwards;
  return static_cast<double>(now.bits() - base->second.bits()) * 1e9 /
         static_cast<double>(after.at_ns() - before.at_ns());
}

}  // namespace ctprof::sdk::testing
