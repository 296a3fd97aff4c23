// A test of a plugin without ctprof and without a running host: a tree of files as text, a capture
// in the same process, and the cells by metric and row.
//
// Include the sources of the plugin, so that debuggers and sanitizers see them:
//
//   #include "hello.cc"
//
//   #include "ctprof/testing.hpp"
//
//   namespace testing = ctprof::sdk::testing;
//
//   int main() {
//     testing::Checks checks;
//     const testing::Tree tree({{"proc/7/task/7/status", "voluntary_ctxt_switches:\t40\n"},
//                               {"proc/7/task/8/status", "Threads:\t2\n"}});
//     testing::Clock clock;
//     const auto done = testing::capture(ctprof_plugin, tree, clock);
//     checks.no_failures(done);
//     checks.rows(done, "hello_switches", {{"7/7", 40}, {"7/8", ctprof::Gap::Malformed}});
//
//     clock.advance(std::chrono::seconds(2));
//     tree.write("proc/7/task/7/status", "voluntary_ctxt_switches:\t60\n");
//     tree.remove("proc/7/task/8");
//     const auto later = testing::capture(ctprof_plugin, tree, clock);
//     checks.check(testing::rate(done, later, "hello_switches", "7/7") == 10.0, "20 in 2 s");
//
//     const testing::Tree other_kernel({{"proc/7/task/7/stat", ""}});
//     const auto none = testing::capture(ctprof_plugin, other_kernel);
//     checks.refused(none, "hello_switches", ctprof::Gap::Unsupported, "cannot read");
//     return checks.exit_status();
//   }
//
// A capture needs no framework: with Boost.Test, Catch2 or GoogleTest, use testing::capture and
// compare cells with ==; they can be printed.
//
// A capture here has one worker and reads only this plugin. `ctprof plugin check` also checks the
// plugin in ctprof, with two workers; the module ctprof_testing does the same from Python.
//
// It runs sources of threads, processes, cgroups and the host. Listers and recorders need a running
// kernel: test them with `ctprof plugin check`.
//
// Include this header only in tests. Of the C++ library it uses files, streams and containers, and
// it may change between versions of ctprof: it is not part of the ABI.
//
// Contents:   capture, Checks.
// See also:   testing/tree.hpp for Tree and Clock, testing/capture.hpp for Request and Capture,
//             testing/cells.hpp for Cell. Headers in testing/detail/ may change.

#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/testing/capture.hpp"
#include "ctprof/testing/cells.hpp"
#include "ctprof/testing/detail/session.hpp"
#include "ctprof/testing/tree.hpp"

namespace ctprof::sdk::testing {

// Captures a tree with a plugin, in this process. The plugin is the constant that its sources
// define: include them, link them, or make a table with make_plugin (ctprof/plugin.hpp).
//
// Throws std::logic_error for a request that the plugin cannot serve, such as an unknown option.
inline Capture capture(const struct ctprof_plugin& plugin, const Tree& tree,
                       const Clock& clock = Clock(), const Request& request = {}) {
  return detail::Session(plugin, tree, request).run(clock);
}

// Compares and counts. Each difference is one line on standard error, and the test continues.
class Checks {
 public:
  // Compares all rows of a metric. Prints each row that differs, is missing or was not expected.
  void rows(const Capture& done, const std::string& metric, const Rows& expected) {
    const Rows& actual = done.rows(metric);
    std::set<std::string> names;
    for (const auto& [name, cell] : actual) names.insert(name);
    for (const auto& [name, cell] : expected) names.insert(name);
    for (const std::string& name : names)
      equal(
          "'" + metric + "' of '" + name + "'", text_of(actual, name), text_of(expected, name),
          actual.contains(name) && expected.contains(name) && actual.at(name) == expected.at(name));
  }

  // Compares one cell.
  void cell(const Capture& done, const std::string& metric, const std::string& row,
            const Cell& expected) {
    const Cell& actual = done.cell(metric, row);
    equal("'" + metric + "' of '" + row + "'", actual.text(), expected.text(), actual == expected);
  }

  // Expects that `probe` refused the metric with this gap, and that the reason contains `words`.
  void refused(const Capture& done, const std::string& metric, Gap gap, std::string_view words) {
    const Refusal refusal = done.refusal(metric);
    equal("the refusal of '" + metric + "'", std::string(name(refusal.gap)) + ": " + refusal.reason,
          std::string(name(gap)) + ": ..." + std::string(words),
          refusal.gap == gap && refusal.reason.find(words) != std::string::npos);
  }

  // Expects that no call failed and that the plugin kept the contract.
  void no_failures(const Capture& done) {
    ++checks_;
    for (const std::string& sentence : done.failures()) fail(sentence);
  }

  // Checks any condition; `what` states it.
  void check(bool condition, const std::string& what) {
    ++checks_;
    if (!condition) fail("not true: " + what);
  }

  // Returns 0 if all checks passed, and 1 otherwise, or if nothing was checked. Prints the total.
  int exit_status() const {
    std::fprintf(stderr, "%d checks, %d failures\n", checks_, failures_);
    return failures_ == 0 && checks_ > 0 ? 0 : 1;
  }

 private:
  static std::string text_of(const Rows& rows, const std::string& name) {
    const auto found = rows.find(name);
    return found == rows.end() ? "missing" : found->second.text();
  }
  void equal(const std::string& what, const std::string& actual, const std::string& expected,
             bool is_equal) {
    ++checks_;
    if (!is_equal) fail(what + " is " + actual + ", expected " + expected);
  }
  void fail(const std::string& sentence) {
    ++failures_;
    std::fprintf(stderr, "FAIL: %s\n", sentence.c_str());
  }

  int checks_ = 0, failures_ = 0;
};

}  // namespace ctprof::sdk::testing
