// Declares the columns that a source reads. Other sources fill them before the source runs.
//
//   static constexpr auto kReads = sdk::reads(kStackStart, sdk::optional<sdk::kStatText>);
//   ...
//   auto starts = batch.input(kStackStart);           // has the type of the metric
//   if (const auto start = starts.at(row)) ...
//
// The columns may belong to your plugin, to another plugin, or to ctprof. The columns of ctprof are
// declared below: the identity of a row, and the columns that a stage provides. ctprof runs the
// sources of a stage in the order that these reads require. Sources that wait for each other are
// refused, and a message names them. A source is also refused if no source can fill a column that
// it reads; the message names the column. If such a column is optional, `batch.input` converts to
// false and every cell reads as Unsupported.
//
// Only columns of the same kind of rows can be read: a source of threads reads columns of threads.
// The lister's columns are available to every stage of threads. Columns of another source of the
// same stage are available because ctprof runs that source first.
//
// So a source can pass data to another source in a hidden column (metric.hpp):
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
// To read a column of another plugin, declare its metric again with the same name and newtype. Your
// declaration determines how the cells are read, so a wrong newtype yields meaningless values;
// `ctprof help NAME` prints the right one.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "ctprof/metric.hpp"

namespace ctprof::sdk {

// The columns of ctprof, which a plugin does not declare itself. A lister offers the first four
// (listing.hpp), and every source may read those of its stage:
//
//   auto tgids = batch.input(sdk::kProcessTgid);
//
// Names and types are fixed as long as ABI 1 is supported.
//
// Columns of threads. The kernel reuses a thread id after its thread exited; together with the
// start time, the id identifies one thread uniquely within one boot.
inline constexpr Metric<IdU32, Key> kTgid{{.name = "tgid"}};
inline constexpr Metric<IdU32, Key> kTid{{.name = "tid"}};
inline constexpr Metric<IdText, Key> kComm{{.name = "comm"}};
inline constexpr Metric<IdU64, Key> kStartTime{{.name = "start_time_clock_ticks", .unit = "ticks"}};
inline constexpr Metric<IdText, Key> kCgroup{{.name = "cgroup"}};
// The name of the thread's process. Only a source of exited threads offers it; ctprof reads it
// itself for all other threads.
inline constexpr Metric<IdText, Key> kPcomm{{.name = "pcomm"}};

// The parent of the thread's process, and whether the thread is a kernel thread. A lister may offer
// them.
inline constexpr Metric<IdU32, Key> kParent{{.name = "parent"}};
inline constexpr Metric<Flag, AnyFlag> kKernelThread{
    {.name = "kernel_thread", .family = "identity"}};
// Whether the thread descends from Window::command(). Only a source of exited threads offers it.
inline constexpr Metric<Flag, AnyFlag> kDescendant{{.name = "descendant", .family = "identity"}};

// Columns of processes and of cgroups.
inline constexpr Metric<IdU32, Key, Entity::Process> kProcessTgid{{.name = "process.tgid"}};
inline constexpr Metric<IdText, Key, Entity::Cgroup> kCgroupPath{{.name = "cgroup.path"}};

// Hidden columns of threads, valid for one batch. Read them as optional, because a lister may
// provide neither.
//
// The open directory /proc/<tgid>/task/<tid>, as a file descriptor that is not to be closed, or -1.
inline constexpr Metric<OrdinalI32, RangeI32> kTaskDir{
    {.name = "task_dir", .flags = CTPROF_METRIC_HIDDEN}};
// The complete text of the thread's file `stat`, as the lister read it.
inline constexpr Metric<IdText, Key> kStatText{{.name = "stat", .flags = CTPROF_METRIC_HIDDEN}};

// Hidden columns that a source of the list or thread stage may offer if its values are more exact
// than those of ctprof: the time at which it read the thread's run time and wait time, and the time
// at which the thread started, in ns of CLOCK_BOOTTIME. No source runs only for them.
inline constexpr Metric<IdU64, Key> kReadAt{
    {.name = "read_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr Metric<IdU64, Key> kBornAt{
    {.name = "born_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};

// Hidden columns of exited threads (ExitedSource in source.hpp).
//
// The time of the exit, in ns of CLOCK_BOOTTIME.
inline constexpr Metric<IdU64, Key> kEndedAt{
    {.name = "ended_at_ns", .unit = "ns", .flags = CTPROF_METRIC_HIDDEN}};
// The largest possible error of kStartTime in ticks, for a source with approximate start times. The
// row then belongs to the listed thread with the same tid, if its start time is within this error.
// Offer it only if start times are approximate.
inline constexpr Metric<IdU64, Key> kStartWithin{
    {.name = "start_within_ticks", .unit = "ticks", .flags = CTPROF_METRIC_HIDDEN}};
// The unit to whose multiples the source rounds down the byte counters of the row. ctprof rounds
// their values at the window's opening in the same way, so that the difference is never negative.
// Offer it only if the source rounds.
inline constexpr Metric<IdU64, Key> kBytesRounded{
    {.name = "bytes_rounded", .unit = "bytes", .flags = CTPROF_METRIC_HIDDEN}};
// The row is not an exit. The thread, which the row identifies by its previous id, was not the
// leader of its process and executed another program (exec). It thereby took over the id and start
// time of the leader.
inline constexpr Metric<Flag, AnyFlag> kTookOver{
    {.name = "took_over", .flags = CTPROF_METRIC_HIDDEN}};
// The row is not an exit. A process that descends from Window::command() was created, with this
// tgid and start time. A source that offers this column reports all such processes.
inline constexpr Metric<Flag, AnyFlag> kWasBorn{
    {.name = "was_born", .flags = CTPROF_METRIC_HIDDEN}};

// An optional column; see `optional`. Its name is valid as long as the program runs.
struct OptionalRead {
  const char* name;  // with the ABI's mark for optional columns: "stat?"
};

template <const auto& kMetric>
inline constexpr auto kOptionalName = [] {
  constexpr std::string_view kBare = kMetric.abi.name;
  std::array<char, kBare.size() + 2> marked{};
  for (std::size_t i = 0; i < kBare.size(); ++i) marked[i] = kBare[i];
  marked[kBare.size()] = '?';
  return marked;
}();

// Marks a read as optional. A source that has only optional reads always runs. Use it for data that
// saves work (a file that was read already), not for data that a metric depends on.
template <const auto& kMetric>
inline constexpr OptionalRead optional{kOptionalName<kMetric>.data()};

// Returns the name of a read, in the form that the ABI expects.
constexpr const char* name_of_read(const OptionalRead& read) { return read.name; }
template <class N, class R, Entity E>
constexpr const char* name_of_read(const Metric<N, R, E>& metric) {
  return metric.abi.name;
}

// Makes the list of a source's reads; declare it as `static constexpr auto kReads = reads(kOne,
// kTwo)`. Columns of the stage (tgid and tid of a thread) are always read and need not be listed.
//
// ctprof uses the declaration to order the sources, to skip columns that no source or user
// requested, and to report which missing input causes a missing value.
template <class... Columns>
constexpr std::array<const char*, sizeof...(Columns)> reads(const Columns&... columns) {
  return {name_of_read(columns)...};
}

// Whether an entry of a source's reads refers to the column `name`.
constexpr bool is_read_of(std::string_view entry, std::string_view name) {
  if (entry.ends_with('?')) entry.remove_suffix(1);
  return entry == name;
}

inline constexpr std::size_t kNotRead = static_cast<std::size_t>(-1);

// Returns the position of `name` among all reads of the source: first the columns of its stage,
// then its own.
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
