// Sources: classes that fill cells, and the templates that convert them to tables of the ABI.
//
// A source is a class with a base for its stage, a list of its offers, and `collect`:
//
//   class Wchan : public sdk::ThreadSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kWchan);
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) { ... }   // optional
//     explicit Wchan(const sdk::Host& host);              // one object per worker
//     void collect(const sdk::Batch& batch);
//   };
//
// A complete source with all optional parts:
//
//   class Limits : public sdk::ProcessSource {
//    public:
//     static constexpr const char* kName = "limits";
//     static constexpr auto kOffers = sdk::offers(kMostFiles, kMostThreads);
//     static constexpr std::int32_t kRank = 0;
//     static constexpr std::uint32_t kTallies = 1;
//     static constexpr const char* kSummaryKey = "example_summary";
//
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) {
//       if (!host.live()) probe.refuse_all(Gap::Unsupported, "limits are not recorded");
//     }
//     explicit Limits(const sdk::Host& host) : host_(host) {}
//
//     void collect(const sdk::Batch& batch) {
//       const auto tgids = batch.input(sdk::kProcessTgid);
//       LimitTable columns(batch);                       // a Table (table.hpp)
//       for (std::uint32_t row = 0; row < batch.rows(); ++row) {
//         const auto text = read(tgids.at(row).value);
//         if (text.gap == Gap::Denied) batch.tally(0);
//         text ? columns.put(row, parse_limits(text.value)) : columns.fail(row, text.gap);
//       }
//     }
//
//     static void summarise(const sdk::Summary& summary) {
//       summary.put("denied", summary.tally(0));
//     }
//   };
//
// The order of calls in one capture: `probe` once; then, for each worker, a constructor, `collect`
// for each batch, and the destructor; then `summarise`. A source keeps nothing between captures;
// data that must be kept belongs in the plugin's context (Host::context).
//
// Threads: an object is created and used by one worker, so its members need no lock. Objects of
// several workers run concurrently, so statics and the context need one.
//
// Failure: the constructor and `collect` may throw. Cells of a batch that are still untouched
// become SourceFailed with the message of the exception. The message is reported once, and the next
// batch is tried.
//
// Cost: the time of `collect` is measured, and a message names a slow source while the call lasts.
// Keep buffers and open files in the object, and check whether a column was requested before you
// read data for it.
//
// Contents:   the base classes of the stages, offers(), SourceTable.
// See also:   entity.hpp for rows of other kinds, listing.hpp for listers, batch.hpp for cells,
// records.hpp for windows and recorders,
//             summary.hpp for `summarise`, plugin.hpp for the exported constant.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/listing.hpp"
#include "ctprof/message.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/records.hpp"
#include "ctprof/summary.hpp"

namespace ctprof::sdk {

// The metrics that a source fills; declare them as `static constexpr auto kOffers = offers(kOne,
// kTwo)`. Each offer is a promise to fill the column on hosts where `probe` does not refuse it. A
// source may only offer metrics of the entity of its stage. Several sources, also of several
// plugins, may offer one metric; ctprof selects one of them for the whole column, by kRank.
template <std::size_t N>
using Offers = std::array<ctprof_metric, N>;

// Makes a list of offers from metrics. Their order determines their indexes in a batch.
template <class... Metrics>
constexpr Offers<sizeof...(Metrics)> offers(const Metrics&... metrics) {
  return {metrics.abi...};
}

// Defaults that a source may hide with members of its own. They are found at compile time, so a
// misspelt name leaves the default in effect: `static constexpr int kRanks = 5` sets no rank.
// `ctprof plugins` shows the effective values.
struct AnySource {
  // The name in messages and provenance. Required if a plugin has several sources; the default is
  // the name of the plugin.
  static constexpr const char* kName = nullptr;
  // Among the sources that can fill a column, the one with the highest rank is selected. Sources of
  // ctprof have rank 0 if they read /proc, 10 for taskstats, 20 for BPF.
  static constexpr std::int32_t kRank = 0;
  // Further columns that it reads, as a result of `reads` (reads.hpp).
  static constexpr std::array<const char*, 0> kReads{};
  // The number of its tallies (Batch::tally).
  static constexpr std::uint32_t kTallies = 0;
  // The object in the file that `summarise` fills; two sources of a plugin may share one.
  static constexpr const char* kSummaryKey = nullptr;
  // Refuses the offers that this host does not support. It is called once for each capture, before
  // any object is created, and must return within 5 s. If it throws, all offers are refused with
  // the message of the exception.
  static void probe(const Host&, const Probe&) {}
  // Called once after the last batch.
  static void summarise(const Summary&) {}
};

// One row for each thread. Batch::threads() returns their addresses. Most plugins use this stage:
// `collect` is called with up to 1,024 threads at a time, by several workers concurrently. A thread
// may exit at any time; its unreadable values are ThreadGone.
struct ThreadSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_THREAD;
  static constexpr auto kStageReads = reads(kTgid, kTid, optional<kTaskDir>);
};

// One row for each process; `batch.input(kProcessTgid)` is its id. For values that the kernel keeps
// once for all threads of a process, such as memory. A group of threads counts each process once.
struct ProcessSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_PROCESS;
  static constexpr auto kStageReads = reads(kProcessTgid);
};

// One row for each cgroup; `batch.input(kCgroupPath)` is its path. The rows are all cgroups, or, if
// only these were requested, those that contain a thread, and their ancestors. Paths are relative
// to Host::cgroup(), and begin with "/".
struct CgroupSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_CGROUP;
  static constexpr auto kStageReads = reads(kCgroupPath);
};

// Lists the threads, and fills its columns while listing. It has `void list(const Listing&)`
// instead of collect. Use it only for an interface that finds all threads faster than a walk of
// /proc. See listing.hpp.
struct ListSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_LIST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Lists threads that exit while a window is open. `start(const Window&)` begins to observe exits,
// and `stop()` ends it. `drain(const Listing&)` delivers the threads that exited since the last
// call; it is called repeatedly, and once more after stop(). One object receives all calls, on one
// thread at a time. kTgid, kTid, kComm, kStartTime and kEndedAt must be among its offers.
//
//   class Ends : public sdk::ExitedSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm,
//                                                 sdk::kStartTime, sdk::kEndedAt, kMyOwn);
//     void start(const sdk::Window& window);     // throws on failure
//     void drain(const sdk::Listing& listing);   // as in listing.hpp
//     void stop();
//   };
struct ExitedSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_EXITED;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Records call stacks while a window is open: `start(const Window&)`, `drain(const Records&)`,
// `stop()`, and optionally `window_ends()` and `window_opens()`; records.hpp explains them and
// contains an example. Its offers are stored as stacks, or as numbers (CTPROF_U64).
struct RecordSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_RECORD;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// One row, for values of the whole host.
struct HostSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_HOST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// The size of messages in buffers of the C++ layer.
inline constexpr std::size_t kOwnMessageBytes = 4096;

// Calls `function`, and copies the message of an exception to `message`. Returns 0, or 1 if it
// threw.
//
// No exception may cross the boundary, so the tables below call every function of a source through
// this one. Use it also for your own functions that you pass to ctprof.
template <class Function>
std::int32_t contained(char* message, std::size_t size, Function function) noexcept {
  try {
    function();
    return 0;
  } catch (const std::exception& error) {
    write_message(message, size, error.what());
  } catch (...) {
    write_message(message, size, "an exception without a message");
  }
  return 1;
}

// The ABI's view of a source class. You need it only for a plugin whose table you build yourself;
// CTPROF_PLUGIN uses it otherwise.
template <class S>
class SourceTable {
  // Whether the source works while a window is open.
  static constexpr bool kIsStarted =
      S::kStage == CTPROF_STAGE_EXITED || S::kStage == CTPROF_STAGE_RECORD;

  // These are constants, so that the exported table is complete before any code runs.
  static constexpr auto kOfferTable = [] {
    std::array<ctprof_offer, S::kOffers.size()> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {&S::kOffers[i], S::kRank, 0};
    return table;
  }();

  // The columns that the stage provides, then those that the source requests, and one unused item,
  // because an array must not be empty.
  static constexpr auto kReadTable = [] {
    std::array<const char*, S::kStageReads.size() + S::kReads.size() + 1> table{};
    std::size_t at = 0;
    for (const char* name : S::kStageReads) table[at++] = name;
    for (const char* name : S::kReads) table[at++] = name;
    return table;
  }();

  static constexpr ctprof_array kOfferArray{kOfferTable.data(), kOfferTable.size(),
                                            sizeof(ctprof_offer)};
  static constexpr ctprof_array kReadArray{kReadTable.data(), kReadTable.size() - 1,
                                           sizeof(const char*)};

  // A probe that throws refuses all offers, with the message of the exception.
  static void probe(const ctprof_host* host, const ctprof_probe* probe) noexcept {
    char message[kOwnMessageBytes];
    const Probe answer(*probe, kOfferArray);
    if (contained(message, sizeof message, [&] { S::probe(Host(*host), answer); }) != 0)
      answer.refuse_all(Gap::SourceFailed, message);
  }

  static std::int32_t open_worker(const ctprof_host* host, void** worker, char* message,
                                  std::size_t size) noexcept {
    return contained(message, size, [&] { *worker = new S(Host(*host)); });
  }

  // A batch is complete unless it threw. A lack of file descriptors during the batch is reported.
  static std::int32_t collect(void* worker, ctprof_batch* batch) noexcept {
    return contained(batch->message, batch->message_size, [&] {
      static_cast<S*>(worker)->collect(Batch(*batch, kOfferArray, kReadArray));
      batch->rows_done = batch->rows;
      if (const char* shortage = take_shortage())
        write_message(batch->message, batch->message_size, shortage);
    });
  }

  static std::int32_t list(void* worker, ctprof_listing* listing) noexcept {
    return contained(listing->message, listing->message_size, [&] {
      static_cast<S*>(worker)->list(Listing(*listing, kOfferArray, kReadArray));
    });
  }

  // A source and whether it was started and stopped. Both happen only once, however often the core
  // calls them.
  struct Started {
    explicit Started(const Host& host) : source(host) {}
    S source;
    bool was_started = false;
    bool was_stopped = false;
  };

  static std::int32_t open_started(const ctprof_host* host, void** worker, char* message,
                                   std::size_t size) noexcept {
    return contained(message, size, [&] { *worker = new Started(Host(*host)); });
  }

  static std::int32_t start(void* worker, const ctprof_window* window, char* message,
                            std::size_t size) noexcept {
    auto& started = *static_cast<Started*>(worker);
    if (std::exchange(started.was_started, true)) return CTPROF_ALREADY;
    const auto status = contained(message, size, [&] { started.source.start(Window(*window)); });
    started.was_stopped = status != 0;  // a source that failed to start must not be stopped
    return status;
  }

  static std::int32_t drain_exited(void* worker, ctprof_listing* listing) noexcept {
    return contained(listing->message, listing->message_size, [&] {
      static_cast<Started*>(worker)->source.drain(Listing(*listing, kOfferArray, kReadArray));
    });
  }

  static std::int32_t drain_records(void* worker, ctprof_records* records) noexcept {
    return contained(records->message, records->message_size,
                     [&] { static_cast<Started*>(worker)->source.drain(Records(*records)); });
  }

  static std::int32_t stop(void* worker, char* message, std::size_t size) noexcept {
    auto& started = *static_cast<Started*>(worker);
    if (std::exchange(started.was_stopped, true)) return CTPROF_ALREADY;
    return contained(message, size, [&] { started.source.stop(); });
  }

  static std::int32_t window_ends(void* worker, char* message, std::size_t size) noexcept {
    return contained(message, size, [&] { static_cast<Started*>(worker)->source.window_ends(); });
  }

  static std::int32_t window_opens(void* worker, char* message, std::size_t size) noexcept {
    return contained(message, size, [&] { static_cast<Started*>(worker)->source.window_opens(); });
  }

  static void close_started(void* worker) noexcept {
    auto* started = static_cast<Started*>(worker);
    char message[kOwnMessageBytes];
    if (started->was_started && !started->was_stopped) stop(worker, message, sizeof message);
    delete started;
  }

  static void close_worker(void* worker) noexcept { delete static_cast<S*>(worker); }

  static void summarise(const ctprof_summary* summary) noexcept {
    char message[kOwnMessageBytes];
    contained(message, sizeof message, [&] { S::summarise(Summary(*summary)); });
  }

 public:
  // Returns the table of the source; `plugin_name` is its default name.
  static constexpr ctprof_source make(const char* plugin_name) {
    ctprof_source table = common(plugin_name);
    if constexpr (requires { S::kEntity; }) table.entity = S::kEntity;
    if constexpr (S::kStage == CTPROF_STAGE_LIST || S::kStage == CTPROF_STAGE_ENTITY_LIST) {
      table.list = &list;
    } else if constexpr (kIsStarted) {
      table.open_worker = &open_started;
      table.close_worker = &close_started;
      table.start = &start;
      table.stop = &stop;
      if constexpr (S::kStage == CTPROF_STAGE_EXITED) table.drain_exited = &drain_exited;
      if constexpr (S::kStage == CTPROF_STAGE_RECORD) table.drain_records = &drain_records;
      if constexpr (requires(S & source) { source.window_ends(); })
        table.window_ends = &window_ends;
      if constexpr (requires(S & source) { source.window_opens(); })
        table.window_opens = &window_opens;
    } else {
      table.collect = &collect;
    }
    return table;
  }

 private:
  static constexpr ctprof_source common(const char* plugin_name) {
    return {.size = sizeof(ctprof_source),
            .stage = S::kStage,
            .name = S::kName ? S::kName : plugin_name,
            .offers = kOfferArray,
            .reads = kReadArray,
            .tallies_count = S::kTallies,
            .reserved = 0,
            .summary_key = S::kSummaryKey,
            .probe = &probe,
            .open_worker = &open_worker,
            .collect = nullptr,
            .list = nullptr,
            .close_worker = &close_worker,
            .summarise = &summarise,
            .start = nullptr,
            .drain_exited = nullptr,
            .drain_records = nullptr,
            .stop = nullptr,
            .window_ends = nullptr,
            .window_opens = nullptr,
            .entity = nullptr};
  }
};

}  // namespace ctprof::sdk
