// What a source reads: columns that others fill, before it is asked.
//
//   static constexpr auto kReads = sdk::reads(kStackStart, sdk::optional<sdk::kStatText>);
//   ...
//   auto starts = batch.input(kStackStart);           // typed, as the metric is
//   if (const auto start = starts.at(row)) ...
//
// The columns may be your own, another plugin's, or ctprof's own, which are declared below: who a
// row is, and what a stage brings with it. ctprof runs the sources of a stage in the order that
// this asks for; two that wait for each other are refused, and named. A source whose input nobody
// can fill is refused too, with the name of the column, unless the column is optional: then
// `batch.input` is false, and every cell of it reads as Unsupported.
//
// Only columns of the same rows can be read: a source of threads reads columns of threads. What the
// lister fills is there for every stage of threads; what another source of your own stage fills is
// there if it has run before, which is what ctprof sees to.
//
// So one source can pass to another what both need, in a hidden column (metric.hpp):
//
//   class Starts : public sdk::ThreadSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kStackStart);
//     ...
//   };
//
//   class Depths : public sdk::ThreadSource {               // runs after Starts
//    public:
//     static constexpr auto kOffers = sdk::offers(kDepth);
//     static constexpr auto kReads = sdk::reads(kStackStart);
//     void collect(const sdk::Batch& batch) {
//       const auto starts = batch.input(kStackStart);
//       auto depths = batch.column(kDepth);
//       for (const sdk::Thread thread : batch.threads()) {
//         const auto start = starts.at(thread.row);
//         start ? depths.put(thread, depth_below(start.value)) : depths.put(thread, start.gap);
//       }
//     }
//     ...
//   };
//
// To read another plugin's column, declare its metric once more, with the name and newtype that it
// has there. What you declare decides how the cells are read, so a wrong newtype reads nonsense;
// `ctprof help NAME` prints the right one.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "ctprof/metric.hpp"

namespace ctprof::sdk {

// ctprof's own columns. A plugin declares none of these. A lister offers the first four
// (listing.hpp), and every source may read those of its stage:
//
//   auto tgids = batch.input(sdk::kProcessTgid);
//
// Names and types are fixed for as long as ABI 1 is served.
//
// Of threads. A thread id is used again after its thread has ended; together with the start time it
// names one thread for good, within one boot.
inline constexpr Metric<IdU32, Key> kTgid{{.name = "tgid"}};
inline constexpr Metric<IdU32, Key> kTid{{.name = "tid"}};
inline constexpr Metric<IdText, Key> kComm{{.name = "comm"}};
inline constexpr Metric<IdU64, Key> kStartTime{{.name = "start_time_clock_ticks", .unit = "ticks"}};
inline constexpr Metric<IdText, Key> kCgroup{{.name = "cgroup"}};
// The name of the thread's process. Only a source of threads that ended offers it; of all others
// ctprof knows it.
inline constexpr Metric<IdText, Key> kPcomm{{.name = "pcomm"}};

// The process whose child the thread's process is, and whether the thread is the kernel's own. A
// lister may offer them.
inline constexpr Metric<IdU32, Key> kParent{{.name = "parent"}};
inline constexpr Metric<Flag, AnyFlag> kKernelThread{
    {.name = "kernel_thread", .family = "identity"}};
// Whether the thread descends from Window::command(). Only a source of threads that ended offers
// it.
inline constexpr Metric<Flag, AnyFlag> kDescendant{{.name = "descendant", .family = "identity"}};

// Of processes and of cgroups.
inline constexpr Metric<IdU32, Key, Entity::Process> kProcessTgid{{.name = "process.tgid"}};
inline constexpr Metric<IdText, Key, Entity::Cgroup> kCgroupPath{{.name = "cgroup.path"}};

// Hidden columns of threads, there for one batch. Read them as optional: a lister may bring
// neither.
//
// The open directory /proc/<tgid>/task/<tid>, as a file descriptor that is not to be closed, or -1.
inline constexpr Metric<OrdinalI32, RangeI32> kTaskDir{
    {.name = "task_dir", .flags = CTPROF_METRIC_HIDDEN}};
// The thread's file `stat` as the lister read it, whole.
inline constexpr Metric<IdText, Key> kStatText{{.name = "stat", .flags = CTPROF_METRIC_HIDDEN}};

// Hidden columns that a source of the list or thread stage may offer where it knows better than
// ctprof: when it read how long the thread ran and waited, and when the thread was born, in ns of
// CLOCK_BOOTTIME. No source is run for them alone.
inline constexpr Metric<IdU64, Key> kReadAt{
    {.name = "read_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr Metric<IdU64, Key> kBornAt{
    {.name = "born_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};

// Hidden columns of threads that ended (ExitedSource in source.hpp).
//
// When it ended, in ns of CLOCK_BOOTTIME.
inline constexpr Metric<IdU64, Key> kEndedAt{
    {.name = "ended_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};
// How far off kStartTime may be, in its ticks, where the source knows it only roughly: the thread
// is then the one of its tid that was listed, if that began so close to it. Offer it only then.
inline constexpr Metric<IdU64, Key> kStartWithin{
    {.name = "start_within_ticks", .unit = "ticks", .flags = CTPROF_METRIC_HIDDEN}};
// What the source rounds the byte counters of the row down to a multiple of. ctprof rounds their
// values at the window's opening likewise, so that their difference does not fall. Offer it only
// then.
inline constexpr Metric<IdU64, Key> kBytesRounded{
    {.name = "bytes_rounded", .unit = "bytes", .flags = CTPROF_METRIC_HIDDEN}};
// The row is no end: the thread, named as it was until then, took its leader's id and start time,
// because it ran another program (exec) and was no leader.
inline constexpr Metric<Flag, AnyFlag> kTookOver{
    {.name = "took_over", .flags = CTPROF_METRIC_HIDDEN}};
// The row is no end: a process that descends from Window::command() was born, with this tgid and
// start time. A source that offers it tells of all such births.
inline constexpr Metric<Flag, AnyFlag> kWasBorn{
    {.name = "was_born", .flags = CTPROF_METRIC_HIDDEN}};

// A column that the source can do without; see `optional`. Its name lives as long as the program.
struct OptionalRead {
  const char* name;  // with the mark that the ABI has for such columns: "stat?"
};

template <const auto& kMetric>
inline constexpr auto kOptionalName = [] {
  constexpr std::string_view kBare = kMetric.abi.name;
  std::array<char, kBare.size() + 2> marked{};
  for (std::size_t i = 0; i < kBare.size(); ++i) marked[i] = kBare[i];
  marked[kBare.size()] = '?';
  return marked;
}();

// A source that has only optional reads always runs. Use this for what saves work (a file that was
// read already), not for what a figure depends on.
template <const auto& kMetric>
inline constexpr OptionalRead optional{kOptionalName<kMetric>.data()};

// Either kind of entry, as the name that the ABI wants.
constexpr const char* name_of_read(const OptionalRead& read) { return read.name; }
template <class N, class R, Entity E>
constexpr const char* name_of_read(const Metric<N, R, E>& metric) {
  return metric.abi.name;
}

// What a source reads, best declared as `static constexpr auto kReads = reads(kOne, kTwo)`. Columns
// of the stage (tgid and tid of a thread) are read in any case, and need not be named again.
//
// Why declare it at all? ctprof orders sources by it, reads no column that nobody wants, and tells
// the user why a figure is missing when an input of it is.
template <class... Columns>
constexpr std::array<const char*, sizeof...(Columns)> reads(const Columns&... columns) {
  return {name_of_read(columns)...};
}

// Whether an entry of a source's reads is the column `name`.
constexpr bool is_read_of(std::string_view entry, std::string_view name) {
  if (entry.ends_with('?')) entry.remove_suffix(1);
  return entry == name;
}

inline constexpr std::size_t kNotRead = static_cast<std::size_t>(-1);

// The position of `name` among all that the source reads: its stage's columns first, then its own.
template <class Source>
constexpr std::size_t position_of_read(std::string_view name) {
  std::size_t at = 0;
  for (const char* entry : Source::kStageReads) {
    if (is_read_of(entry, name)) return at;
    ++at;
  }
  for (const char* entry : Source::kReads) {
    if (is_read_of(entry, name)) return at;
    ++at;
  }
  return kNotRead;
}

}  // namespace ctprof::sdk
