#include "tools/ctprof/fleet/fleet.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/registry/loader.hpp"
#include "tools/ctprof/fleet/subcommand_table.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/python.hpp"

namespace ctprof::cli {
namespace {

struct InternalSubcommand {
  std::string_view name;
  int (*run)(std::span<const char* const> words);
};
constexpr InternalSubcommand kInternalSubcommands[] = {
    {"read", &run_fleet_read},   {"judge", &run_fleet_judge},
    {"match", &run_fleet_match}, {"parse", &run_fleet_parse},
    {"time", &run_fleet_time},   {"significance", &run_fleet_significance}};

// Sets CTPROF, by which the package finds the ctprof that started it.
int run_package(std::span<const char* const> words) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return fail(error("reading", "/proc/self/exe", failed.message()));
  ::setenv("CTPROF", self.c_str(), 1);
  const auto status = run_python({words.begin(), words.end()});
  return status ? *status : fail(status.error());
}

}  // namespace

int run_fleet_words(std::span<const char* const> words) {
  if (runs_privileged())
    return fail("a ctprof with file capabilities does not run fleet; use a ctprof without them");
  const std::string_view first = words.empty() ? "" : words.front();
  for (const InternalSubcommand& subcommand : kInternalSubcommands)
    if (subcommand.name == first) return subcommand.run(words.subspan(1));
  return run_package(words);
}

namespace {

// Options precede the word `fleet`.
int run_fleet(const CommonOptions&) {
  return fail("options of fleet follow it: ctprof fleet rank METRIC");
}

HelpSection list_fleet_subcommands() {
  constexpr std::size_t kIndent = 28;
  HelpSection section{
      "Subcommands",
      kIndent,
      {},
      "\n`ctprof fleet SUBCOMMAND --help` describes the options of a subcommand.\n"};
  for (const FleetSubcommand& subcommand : fleet_subcommands())
    section.entries.push_back(
        {std::string(subcommand.name) + " " + std::string(subcommand.arguments),
         std::string(subcommand.summary)});
  return section;
}

}  // namespace

extern constinit const CommandInfo kFleetCommand =
    make_command<CommonOptions, run_fleet>({.name = "fleet",
                                            .similar_names = "hosts,cluster,index,rank,sql",
                                            .arguments = "SUBCOMMAND [OPTION...]",
                                            .summary = "query recordings of thousands of hosts",
                                            .example = "ctprof fleet compare --by kernel",
                                            .max_arguments = kAnyNumber,
                                            .make_help_section = list_fleet_subcommands},
                                           {});

}  // namespace ctprof::cli
