#include "tools/ctprof/fleet/fleet.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/registry/loader.hpp"
#include "tools/ctprof/help.hpp"
#include "tools/ctprof/pager.hpp"
#include "tools/ctprof/python.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

struct Plumbing {
  std::string_view name;
  int (*run)(std::span<const char* const> words);
};
constexpr Plumbing kPlumbing[] = {{"read", &run_fleet_read},
                                  {"judge", &run_fleet_judge},
                                  {"match", &run_fleet_match},
                                  {"parse", &run_fleet_parse}};

// The package's verbs, in the order of its own help.
constexpr FleetQuestion kQuestions[] = {
    {"index", "DIR|GLOB|FILE...", "read files into a table beside them, each once"},
    {"rank", "[METRIC|EXPR]", "hosts by a figure, the most unusual first"},
    {"compare", "--by FACT",
     "hosts of one kernel (or another fact) with those of another, and how sure the difference is"},
    {"top", "[METRIC]", "groups over all hosts"},
    {"show", "HOST [-- OPTION...]", "what a host was doing: its newest capture, opened by ctprof"},
    {"sql", "[QUERY]", "a query of your own"},
};

// The package calls back the ctprof that it was started by.
int run_package(std::span<const char* const> words) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return fail(error("reading", "/proc/self/exe", failed.message()));
  ::setenv("CTPROF", self.c_str(), 1);
  const auto status = run_python({words.begin(), words.end()});
  return status ? *status : fail(status.error());
}

}  // namespace

std::span<const FleetQuestion> fleet_questions() { return kQuestions; }

int run_fleet_words(std::span<const char* const> words) {
  if (runs_privileged())
    return fail("fleet is not for a ctprof with capabilities of its file: call another one");
  const std::string_view first = words.empty() ? "" : words.front();
  for (const Plumbing& one : kPlumbing)
    if (one.name == first) return one.run(words.subspan(1));
  if (first.empty() || first == "--help" || first == "-h")
    return page(Options(), help_of(*find_verb("fleet")));
  return run_package(words);
}

int run_fleet(const Options&) {
  return fail("options of fleet follow it: ctprof fleet rank METRIC");
}

}  // namespace ctprof::cli
