#include "tools/ctprof/fleet/fleet.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/registry/loader.hpp"
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

int run_fleet(const Options&) {
  return fail("options of fleet follow it: ctprof fleet rank METRIC");
}

}  // namespace ctprof::cli
