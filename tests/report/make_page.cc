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
#include "tests/report/made_runs.hpp"

namespace ctprof::tests {
namespace {

using namespace hand_made;

// Returns a deterministic factor near 1 that differs from run to run.
double wobble(std::size_t run, std::size_t row) {
  return 1 + 0.02 * std::sin(static_cast<double>(7 * run + 3 * row));
}

const std::vector<Taken> kBefore{
    {"main;serve;parse", 300}, {"main;serve;write", 200}, {"main;poll", 40}};
const std::vector<Taken> kAfter{
    {"main;serve;parse", 460}, {"main;serve;write", 190}, {"main;render", 30}};

// A service whose parser got slower, beside groups that did not change.
std::vector<Did> service(std::size_t run, bool is_after) {
  const auto of = [&](double ms, std::size_t row) {
    return static_cast<std::uint64_t>(ms * wobble(run + 31 * is_after, row) * kMs);
  };
  return {{"service", of(is_after ? 3700 : 3000, 1), of(0.004, 2), is_after ? kAfter : kBefore},
          {"neighbour", of(1500, 3), of(0.01, 4), {}},
          {"disk", of(is_after ? 400 : 420, 5), of(0.02, 6), {}},
          {is_after ? "newcomer" : "leaver", of(800, 7), of(0.005, 8), {}}};
}

std::vector<Did> hostile(std::size_t run, bool is_after) {
  const auto of = [&](double ms, std::size_t row) {
    return static_cast<std::uint64_t>(ms * wobble(run + 31 * is_after, row) * kMs);
  };
  const std::vector<Taken> stacks{{"<script>alert(2)</script>;</style><b>x", 300},
                                  {"\"onload=\"alert(3);a\u202egnp", 200}};
  return {{"<script>alert(1)</script>", of(is_after ? 3000 : 2000, 1), of(0.01, 2), stacks},
          {"\"><img src=x onerror=alert(4)>", of(1500, 3), of(0.01, 4), {}},
          {"=HYPERLINK(\"http://x\")", of(1100, 5), of(0.01, 6), {}},
          {"a\u202egnp.exe\u2066 \xff\xfe", of(900, 7), of(0.01, 8), {}},
          {"&lt;b&gt;'</script>", of(800, 9), of(0.01, 10), {}},
          {std::string(4096, 'y'), of(700, 11), of(0.01, 12), {}}};
}

// Returns a name without digits, because digits would be normalized to a pattern.
std::string word(std::size_t number) {
  std::string text = "program-of-some-length-";
  for (int letter = 0; letter < 3; ++letter, number /= 26)
    text += static_cast<char>('a' + number % 26);
  return text;
}

// The number of threads of a large host, in 500 groups.
std::vector<Did> large(std::size_t run, bool is_after) {
  std::vector<Did> all;
  for (std::size_t at = 0; at < 10'000; ++at) {
    const double ms = 20 + static_cast<double>(at % 500);
    const double change = is_after && at % 50 == 7 ? 1.3 : 1;
    const auto of = [&](double value) {
      return static_cast<std::uint64_t>(value * change * wobble(run + 31 * is_after, at) * kMs);
    };
    all.push_back({word(at % 500), of(ms), of(0.01), {}});
    if (at < 500) all.back().stacks = is_after ? kAfter : kBefore;
  }
  return all;
}

using Make = std::function<std::vector<Did>(std::size_t run, bool is_after)>;

struct What {
  Make make;
  std::size_t before, after;  // runs; no candidate: one side is shown
};

const std::map<std::string_view, What> kWhats{
    {"pair", {service, 8, 8}},
    {"single", {service, 1, 1}},
    {"few", {service, 3, 3}},
    {"window", {service, 1, 0}},
    {"runs", {service, 5, 0}},
    {"hostile", {hostile, 6, 6}},
    {"large", {large, 10, 10}},
    {"quiet", {[](auto, auto) { return std::vector<Did>{{"idle"}}; }, 2, 2}},
};

int run(std::string_view name) {
  const What& what = kWhats.at(name);
  std::vector<Snapshot> runs;
  for (std::size_t run = 0; run < what.before + what.after; ++run)
    runs.push_back(window_of(what.make(run, run >= what.before), run));
  std::vector<const Snapshot*> all;
  for (const Snapshot& one : runs) all.push_back(&one);
  Spec spec;
  spec.side_sizes = what.after ? std::vector{what.before, what.after} : std::vector{what.before};
  const auto report = Report::make(all, spec, {&kRuleBook, {}});
  if (!report) return std::cerr << report.error().text << '\n', 1;
  const std::vector<std::string> files{name == "hostile" ? "<b>before</b>" : "before/", "after/"};
  std::cout << report_page(*report, files, {"ctprof report before/ --vs after/ -o report.html"});
  return 0;
}

}  // namespace
}  // namespace ctprof::tests

int main(int argc, char** argv) {
  if (argc == 2) return ctprof::tests::run(argv[1]);
  std::cerr << "make_page WHAT\n";
  return 2;
}
