// Makes pages of synthetic windows, for a browser.
//
//   make_page WHAT > FILE.html

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/page/report_page.hpp"
#include "tests/report/synthetic_runs.hpp"

namespace ctprof::tests {
namespace {

using namespace hand_made;

// Returns a deterministic factor near 1 that differs from run to run.
double get_noise_factor(std::size_t run, std::size_t row) {
  return 1 + 0.02 * std::sin(static_cast<double>(7 * run + 3 * row));
}

const std::vector<StackTime> kBaselineStacks{
    {"main;serve;parse", 300}, {"main;serve;write", 200}, {"main;poll", 40}};
const std::vector<StackTime> kCandidateStacks{
    {"main;serve;parse", 460}, {"main;serve;write", 190}, {"main;render", 30}};

// A service whose parser got slower, and groups that did not change.
std::vector<ThreadActivity> make_service(std::size_t run, bool is_after) {
  const auto make_ns = [&](double ms, std::size_t row) {
    return static_cast<std::uint64_t>(ms * get_noise_factor(run + 31 * is_after, row) * kMs);
  };
  return {{"service", make_ns(is_after ? 3700 : 3000, 1), make_ns(0.004, 2),
           is_after ? kCandidateStacks : kBaselineStacks},
          {"neighbour", make_ns(1500, 3), make_ns(0.01, 4), {}},
          {"disk", make_ns(is_after ? 400 : 420, 5), make_ns(0.02, 6), {}},
          {is_after ? "newcomer" : "leaver", make_ns(800, 7), make_ns(0.005, 8), {}}};
}

std::vector<ThreadActivity> make_hostile(std::size_t run, bool is_after) {
  const auto make_ns = [&](double ms, std::size_t row) {
    return static_cast<std::uint64_t>(ms * get_noise_factor(run + 31 * is_after, row) * kMs);
  };
  const std::vector<StackTime> stacks{{"<script>alert(2)</script>;</style><b>x", 300},
                                      {"\"onload=\"alert(3);a\u202egnp", 200}};
  return {
      {"<script>alert(1)</script>", make_ns(is_after ? 3000 : 2000, 1), make_ns(0.01, 2), stacks},
      {"\"><img src=x onerror=alert(4)>", make_ns(1500, 3), make_ns(0.01, 4), {}},
      {"=HYPERLINK(\"http://x\")", make_ns(1100, 5), make_ns(0.01, 6), {}},
      {"a\u202egnp.exe\u2066 \xff\xfe", make_ns(900, 7), make_ns(0.01, 8), {}},
      {"&lt;b&gt;'</script>", make_ns(800, 9), make_ns(0.01, 10), {}},
      {std::string(4096, 'y'), make_ns(700, 11), make_ns(0.01, 12), {}}};
}

// Returns a name without digits, because digits would be normalized to a pattern.
std::string make_name(std::size_t number) {
  std::string text = "program-of-some-length-";
  for (int letter = 0; letter < 3; ++letter, number /= 26)
    text += static_cast<char>('a' + number % 26);
  return text;
}

// The number of threads of a large host, in 500 groups.
std::vector<ThreadActivity> make_large(std::size_t run, bool is_after) {
  std::vector<ThreadActivity> activities;
  for (std::size_t at = 0; at < 10'000; ++at) {
    const double ms = 20 + static_cast<double>(at % 500);
    const double change = is_after && at % 50 == 7 ? 1.3 : 1;
    const auto make_ns = [&](double value) {
      return static_cast<std::uint64_t>(value * change * get_noise_factor(run + 31 * is_after, at) *
                                        kMs);
    };
    activities.push_back({make_name(at % 500), make_ns(ms), make_ns(0.01), {}});
    if (at < 500) activities.back().stacks = is_after ? kCandidateStacks : kBaselineStacks;
  }
  return activities;
}

using MakeActivities = std::function<std::vector<ThreadActivity>(std::size_t run, bool is_after)>;

struct PageCase {
  MakeActivities make;
  std::size_t baseline_runs, candidate_runs;  // runs; no candidate: one side is shown
};

const std::map<std::string_view, PageCase> kPageCases{
    {"pair", {make_service, 8, 8}},
    {"single", {make_service, 1, 1}},
    {"few", {make_service, 3, 3}},
    {"window", {make_service, 1, 0}},
    {"runs", {make_service, 5, 0}},
    {"hostile", {make_hostile, 6, 6}},
    {"large", {make_large, 10, 10}},
    {"quiet", {[](auto, auto) { return std::vector<ThreadActivity>{{"idle"}}; }, 2, 2}},
};

int write_page(std::string_view name) {
  const PageCase& page_case = kPageCases.at(name);
  std::vector<Snapshot> runs;
  for (std::size_t run = 0; run < page_case.baseline_runs + page_case.candidate_runs; ++run)
    runs.push_back(make_run_window(page_case.make(run, run >= page_case.baseline_runs), run));
  std::vector<const Snapshot*> run_pointers;
  for (const Snapshot& one : runs) run_pointers.push_back(&one);
  Spec spec;
  spec.side_sizes = page_case.candidate_runs
                        ? std::vector{page_case.baseline_runs, page_case.candidate_runs}
                        : std::vector{page_case.baseline_runs};
  const auto report = Report::make(run_pointers, spec, {&kRuleSet, {}});
  if (!report) return std::cerr << report.error().text << '\n', 1;
  const std::vector<std::string> files{name == "hostile" ? "<b>before</b>" : "before/", "after/"};
  std::cout << make_report_page(*report, files,
                                {"ctprof report before/ --vs after/ -o report.html"});
  return 0;
}

}  // namespace
}  // namespace ctprof::tests

int main(int argc, char** argv) {
  if (argc == 2) return ctprof::tests::write_page(argv[1]);
  std::cerr << "make_page WHAT\n";
  return 2;
}
