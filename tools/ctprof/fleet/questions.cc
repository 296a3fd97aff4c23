#include "tools/ctprof/fleet/questions.hpp"

namespace ctprof::cli {
namespace {

// The commands of the package, in the order of its help.
constexpr FleetQuestion kQuestions[] = {
    {"index", "DIR|GLOB|FILE...", "read files into a table beside them, each once"},
    {"rank", "[METRIC|EXPR]", "hosts by a figure, the most unusual first"},
    {"compare", "--by FACT",
     "hosts of one kernel (or another fact) with those of another, and how sure the difference is"},
    {"top", "[METRIC]", "groups over all hosts"},
    {"show", "HOST [-- OPTION...]", "what a host was doing: its newest capture, opened by ctprof"},
    {"sql", "[QUERY]", "a query of your own"},
};

}  // namespace

std::span<const FleetQuestion> fleet_questions() { return kQuestions; }

}  // namespace ctprof::cli
