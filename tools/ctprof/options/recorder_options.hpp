// The options for call stacks: the recorders and how they sample, and where function names come
// from.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/archive/time_text.hpp"
#include "core/base/result.hpp"
#include "core/capture/options.hpp"
#include "core/snapshot/stack_names.hpp"
#include "tools/ctprof/options/option.hpp"
#include "tools/ctprof/options/option_parsers.hpp"

namespace ctprof::cli {

struct SymbolOptions {
  NameOptions names{};
};

inline constexpr auto kDebugDir = option(
    "debug-dir", "DIR", member<&SymbolOptions::names, &NameOptions::debug_directories>, AllTexts(),
    "Also search DIR for symbols, before /usr/lib/debug: DIR/.build-id/ab/cdef.debug or "
    "DIR/abcdef/debuginfo belongs to build id abcdef. symbolize also reads DIR/perf-PID.map and "
    "jit-PID.dump. Can be repeated.");
inline constexpr auto kInlines =
    switch_on("inlines", member<&SymbolOptions::names, &NameOptions::find_inlined>,
              "Show inlined functions as frames, where debug information describes them.");

struct RecorderOptions : SymbolOptions {
  RecordOptions record{};

  // Returns `record` with the names.
  RecordOptions make_record_options() const;
};

inline constexpr Range kFrequencies{1, 4000, "a number of samples per second from 1 to 4000"};
inline constexpr Range kDepths{1, 1024, "a number of frames from 1 to 1024"};
inline constexpr Range kStackSizes{1 << 10, 64 << 10, "a size from 1K to 64K"};
inline constexpr Range kRingSizes{4 << 10, 1 << 30, "a size from 4K to 1G"};
inline constexpr Range kSleeperFrequencies{1, 250, "a number of passes per second from 1 to 250"};
inline constexpr Range kSamplingPeriods{10'000, 10'000'000'000, "a time from 10us to 10s"};
inline constexpr Range kBudgets{100, 1'000'000, "a share of all CPUs from 0.01% to 100%"};

inline constexpr std::array kUnwindMethods{Word{"cfi", CTPROF_USER_COPY},
                                           Word{"fp", CTPROF_USER_ADDRESSES}};

// "8192", "8K", "32M", "1G".
std::uint64_t parse_scaled_number(std::string_view text);
// Parses "1%" or "0.5%" as parts per million. Returns 0 if the text is not a percentage.
std::uint64_t parse_percent_as_ppm(std::string_view text);
Result<std::vector<std::string>> parse_recorders(const OptionUse& use);

// Selects the waits whose stacks are recorded.
struct WaitChoice {
  Result<void> operator()(const OptionUse& use, RecordOptions& out) const;
};

// What the options below require.
inline constexpr const char* kRecordersNeeded = "recorders, such as --recorders on-cpu";

template <auto part, class Parser>
constexpr auto recorder_option(const char* name, const char* value, Parser parser,
                               const char* help) {
  return option(name, value, member<&RecorderOptions::record, part>, parser, help)
      .needs("recorders", kRecordersNeeded);
}

inline constexpr auto kRecorders =
    option("recorders", "NAME,...", member<&RecorderOptions::record, &RecordOptions::recorders>,
           Parsed<&parse_recorders>(),
           "Also record call stacks with these recorders: on-cpu, off-cpu, sleepers.");
inline constexpr std::array kSampling{
    recorder_option<&RecordOptions::frequency_hz>(
        "freq", "HZ", Amount<kFrequencies, parse_scaled_number>(),
        "Sample each CPU HZ times per second, at most 4000. Default: 99."),
    recorder_option<&RecordOptions::passes_hz>(
        "sleepers-freq", "HZ", Amount<kSleeperFrequencies, parse_scaled_number>(),
        "Read the stacks of sleeping threads HZ times per second, at most 250. Default: 9."),
    recorder_option<&RecordOptions::period_ns>(
        "offcpu-period", "TIME", Amount<kSamplingPeriods, parse_duration>(),
        "Record one off-CPU stack per TIME of waiting on average: 100us, 10ms. Default: 1ms."),
    option("offcpu-stacks", "blocked|all|every", member<&RecorderOptions::record>, WaitChoice(),
           "Record stacks of blocked threads (default), of all waits, or at every switch.")
        .needs("recorders", kRecordersNeeded),
    recorder_option<&RecordOptions::budget_ppm>(
        "budget", "PERCENT", Amount<kBudgets, parse_percent_as_ppm>(),
        "Let recorders use at most PERCENT of all CPUs, such as 1%. They reduce their rate before "
        "they exceed it."),
    recorder_option<&RecordOptions::max_depth>(
        "max-depth", "N", Amount<kDepths, parse_scaled_number>(),
        "Keep at most N frames of a stack, nearest to the leaf, from 1 to 1024. Default: 511. With "
        "--unwind fp, on-cpu keeps at most kernel.perf_event_max_stack (127)."),
    recorder_option<&RecordOptions::user_kind>(
        "unwind", "cfi|fp", OneOf<kUnwindMethods>(),
        "Unwind user stacks with call frame information (default), or follow frame pointers in the "
        "kernel."),
    recorder_option<&RecordOptions::stack_bytes>(
        "stack-bytes", "SIZE", Amount<kStackSizes, parse_scaled_number>(),
        "Copy at most SIZE of a user stack. Default: 32K up to 250 Hz, 8K above; where the kernel "
        "walks stacks and few are copied, 32K up to 1000 Hz, 16K above."),
    recorder_option<&RecordOptions::ring_bytes>(
        "ring", "SIZE", Amount<kRingSizes, parse_scaled_number>(),
        "Set the size of the kernel buffer per CPU. Default: 8M; 32M from 1000 Hz, or if more than "
        "9M are copied per second."),
};
inline constexpr std::array kNamesOfRecorders{kDebugDir.needs("recorders", kRecordersNeeded),
                                              kInlines.needs("recorders", kRecordersNeeded)};
inline constexpr auto kNoInherit =
    switch_off("no-inherit", member<&RecorderOptions::record, &RecordOptions::inherits>,
               "With --pid: exclude processes that these fork meanwhile.");

}  // namespace ctprof::cli
