#include "tools/ctprof/fleet/subcommand_table.hpp"

namespace ctprof::cli {
namespace {

// The commands of the package, in the order of its help.
constexpr FleetSubcommand kSubcommands[] = {
    {"index", "DIR|GLOB|FILE...", "read new files into an index beside them"},
    {"rank", "[METRIC|EXPR]", "rank hosts by a metric, the most unusual first"},
    {"compare", "--by FACT", "compare hosts by a fact such as the kernel, with p values"},
    {"top", "[METRIC]", "rank groups over all hosts"},
    {"show", "HOST [-- OPTION...]", "open the newest capture of a host"},
    {"sql", "[QUERY]", "run an SQL query on the index"},
};

}  // namespace

std::span<const FleetSubcommand> fleet_subcommands() { return kSubcommands; }

}  // namespace ctprof::cli
