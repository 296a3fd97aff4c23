#include "tools/ctprof/commands/record_options.hpp"

#include <array>
#include <utility>

#include "core/archive/time_text.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/command.hpp"

namespace ctprof::cli {
namespace {

using Record = RecordCommandOptions;

// Limit of --repeat, because each window is a file in one directory.
constexpr std::uint64_t kMaxWindows = 99'999;

constexpr std::uint64_t kHourNs = 3600 * kNsPerSecond;
constexpr Range kDurations{1'000'000, 366 * 24 * kHourNs,
                           "a time from 1ms to 366d (10s, 500ms, 2m, 1h30m)"};
constexpr Range kWindowPeriods{kNsPerSecond, kHourNs, "a time from 1s to 1h"};
constexpr Range kKeepTimes{kMinAgeNs, 20ULL * 366 * 24 * kHourNs,
                           "a time from 2h to 20 years, such as 7d"};
constexpr Range kTotalSizes{kMinBytes, 1ULL << 50, "a size from 1M to 1024T (2G)"};

// Requires --duration: a window without a length would never end.
Result<std::uint64_t> parse_repeat(const OptionUse& use) {
  CTPROF_TRY_VALUE(const auto repeat, parse_whole_number(use));
  if (repeat < 1 || repeat > kMaxWindows)
    return Error{"--repeat: " + std::to_string(repeat) + " is not between 1 and " +
                 std::to_string(kMaxWindows)};
  if (!use.line.has("duration"))
    return Error{"--repeat needs the length of each window, as in --repeat 8 -d 5s"};
  return repeat;
}

constexpr const char* kEveryNeeded = "--every, such as --every 60s";

constexpr auto kWhenAndWhere = option_list<Record>(
    kOutput,
    option("duration,d", "TIME", member<&Record::duration_ns>, Amount<kDurations, parse_duration>(),
           "Record for TIME: 10s, 500ms, 2m. Default: until Ctrl-C, or until COMMAND exits."),
    option("repeat", "N", member<&Record::repeat>, Parsed<&parse_repeat>(),
           "Record N consecutive windows, each into its own file in the directory that -o names, "
           "which must be new or empty.")
        .only_typed(),
    option("every", "TIME", member<&Record::continuous, &ContinuousOptions::every_ns>,
           Amount<kWindowPeriods, parse_duration>(),
           "Record consecutive windows of TIME (such as 60s) until stopped or until --duration "
           "ends. Files are hourly, in the directory that -o names; --since selects from them. "
           "With --duration, -o FILE.ctprof.zst records one file of all windows.")
        .only_typed(),
    option("keep", "TIME",
           member<&Record::continuous, &ContinuousOptions::rules, &RetentionRules::max_age_ns>,
           Amount<kKeepTimes, parse_duration>(),
           "With --every: delete files whose windows are older than TIME. Default: 7d.")
        .needs("every", kEveryNeeded),
    option("max-size", "SIZE",
           member<&Record::continuous, &ContinuousOptions::rules, &RetentionRules::max_bytes>,
           Amount<kTotalSizes, parse_size>(),
           "With --every: delete the oldest files when all files exceed SIZE. Overrides --keep. "
           "Default: 2G.")
        .needs("every", kEveryNeeded),
    switch_on("dry-run", member<&Record::continuous, &ContinuousOptions::dry_run>,
              "With --every: only report what would be kept and deleted, estimated from the "
              "existing windows or from one test window.")
        .only_typed()
        .needs("every", kEveryNeeded),
    kEmit.needs("every", kEveryNeeded),
    option("interleave", "CMD_A CMD_B", member<&Record::interleave>, AllTexts(),
           "Record two conditions alternately: --repeat pairs of runs in random order. CMD_A or "
           "CMD_B runs in sh before each run. Runs are stored in directories a and b; compare them "
           "with `ctprof compare DIR`.")
        .only_typed());

constexpr std::array kCaptions{"When and where", "What", "Call stacks", "Other options"};
constexpr const char *kWhen = kCaptions[0], *kWhat = kCaptions[1], *kStacks = kCaptions[2];

constexpr auto kRecordOptions = option_list<Record>(
    with_caption(kWhen, kWhenAndWhere),
    with_caption(kStacks, option_list<Record>(kRecorders, kSampling, kNamesOfRecorders)),
    with_caption(kWhat, option_list<Record>(kLevel, kPids, kNoInherit, kCgroup)), kJobs, kWriting,
    with_caption(kWhat, option_list<Record>(kNoHostname)), kStrict, kVerbose,
    with_caption(kWhat, option_list<Record>(kMetrics)), kScreen,
    with_caption(kWhat, option_list<Record>(kPlugins)), kPluginPath,
    with_caption(kWhat, option_list<Record>(kSet)), kQuietAndHelp);

// The commands of the two sides. For the parser, the second word of --interleave 'A' 'B' is an
// argument.
Result<void> take_interleave_commands(Record& options) {
  if (options.interleave.empty()) return {};
  if (options.interleave.size() != 1 || options.arguments.size() != 1)
    return Error{
        "--interleave takes two commands, one for each side: --interleave 'CMD_A' 'CMD_B'"};
  options.interleave.push_back(std::move(options.arguments.front()));
  options.arguments.clear();
  if (options.repeat == 0)
    return Error{"--interleave needs the number of pairs, as in --repeat 8 -d 3s"};
  if (!options.child_command.empty())
    return Error{"--interleave has its own commands and accepts none after --"};
  return {};
}

Result<void> check_every(const CommandLine& line, const Record& options) {
  if (options.continuous.every_ns == 0) return {};
  for (const char* name : {"repeat", "interleave"})
    if (line.has(name))
      return Error{"--every runs until it is stopped, and --" + std::string(name) +
                   " a number of times: use only one of them"};
  for (const char* name : {"keep", "max-size"})
    if (options.output.ends_with(kFileSuffix) && line.has(name))
      return Error{"--" + std::string(name) + " requires -o DIR: a file keeps all windows"};
  return {};
}

}  // namespace

Result<void> RecordCommandOptions::check(const CommandLine& line) {
  child_command = line.child_command;
  CTPROF_TRY(check_every(line, *this));
  CTPROF_TRY(take_interleave_commands(*this));
  return CommonOptions::check(line);
}

CaptureOptions RecordCommandOptions::make_capture_options() const {
  CaptureOptions capture{{}, pids, metrics, jobs, hostname, true, cgroup};
  capture.record = make_record_options();
  capture.level = level.value_or(Level::Fast);
  return capture;
}

extern constinit const CommandInfo kRecordCommand = make_command<RecordCommandOptions, run_record>(
    {.name = "record",
     .similar_names = "stat,run,trace,profile,sample,start",
     .arguments = "[-d TIME] [-o FILE] [-- COMMAND...]",
     .summary =
         "record a window: what every thread does for some time, including threads that exit",
     .example = "ctprof record -d 10s",
     .more_examples = "  ctprof record --recorders on-cpu,off-cpu -d 5s -o stacks.ctprof.zst\n"
                      "  ctprof record -o build.ctprof.zst -- make -j4\n",
     .reads_kernel = true,
     .takes_child_command = true,
     .captions = kCaptions},
    kRecordOptions);

}  // namespace ctprof::cli
