#include "tools/ctprof/commands/live_command.hpp"

#include <cstdint>
#include <string>

#include "tools/ctprof/live/keys.hpp"
#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {
namespace {

constexpr Range kHistorySizes{1ULL << 20, 16ULL << 30, "a size from 1M to 16G"};

constexpr auto kLiveOptions = option_list<LiveOptions>(
    option("history", "SIZE", member<&LiveOptions::history_bytes>,
           Amount<kHistorySizes, parse_size>(),
           "Keep at most SIZE of past windows in memory, from 1M to 16G, and at most ten minutes. "
           "Default: 128M."),
    kRecorders, kSampling, kNamesOfRecorders, kPids, kNoInherit, kCgroup, kJobs, kNoHostname,
    kVerbose, kNoNormalize, kScreen, kPluginChoice, kEmit, kSet, kQuietAndHelp);

HelpSection list_keys() {
  constexpr std::size_t kIndent = 18;
  HelpSection section{"Keys", kIndent, {}};
  for (const live::KeyInfo& key : live::key_table())
    section.entries.push_back({std::string(key.label), std::string(key.help)});
  return section;
}

}  // namespace

extern constinit const CommandInfo kLiveCommand = make_command<LiveOptions, run_live>(
    {.name = "live",
     .similar_names = "top,htop,atop,watch,monitor",
     .summary = "show the last second of this host in a terminal, every second",
     .example = "ctprof live",
     .reads_kernel = true,
     .make_help_section = list_keys},
    kLiveOptions);

}  // namespace ctprof::cli
