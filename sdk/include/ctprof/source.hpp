// Sources: classes that fill cells, and what turns them into the ABI's tables.
//
// A source is a class with a base for its stage, a list of what it offers, and `collect`:
//
//   class Wchan : public sdk::ThreadSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kWchan);
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) { ... }   // optional
//     explicit Wchan(const sdk::Host& host);              // one object per worker
//     void collect(const sdk::Batch& batch);
//   };
//
// Written out, with all that a source may say:
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
// The order of events in one capture: `probe` once; then for each worker a constructor, `collect`
// for batch after batch, and the destructor; then `summarise`. Between one capture and the next
// nothing of a source is kept; what must be kept belongs in the plugin's context (Host::context).
//
// Threads: an object is made and used by one worker, so its members need no lock. Objects of
// several workers run side by side, so statics and the context do.
//
// Failure: the constructor and `collect` may throw. What a batch left untouched becomes
// SourceFailed with the exception's words, the user is told once, and the next batch is tried.
//
// Cost: `collect` is measured, and a source that is slow is named while it lasts. Keep buffers and
// open files in the object; ask whether a column is wanted before you read for it.
//
// What is here:   the stages' bases, offers(), SourceTable.
// What is not:    what a lister writes to (listing.hpp), cells (batch.hpp), windows and what a
//                 recorder writes to (records.hpp), what `summarise` writes to (summary.hpp), the
//                 exported constant (plugin.hpp).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/listing.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/records.hpp"
#include "ctprof/summary.hpp"

namespace ctprof::sdk {

// What a source fills, best declared as `static constexpr auto kOffers = offers(kOne, kTwo)`.
// Each offer is a promise to fill the column on hosts where `probe` does not refuse it. A source
// may offer metrics of one entity, that of its stage. Several sources, of several plugins, may
// offer one metric; ctprof takes one of them for the whole column, by kRank.
template <std::size_t N>
using Offers = std::array<ctprof_metric, N>;

// Metrics as a list of offers, in their order, which is also their numbering in a batch.
template <class... Metrics>
constexpr Offers<sizeof...(Metrics)> offers(const Metrics&... metrics) {
  return {metrics.abi...};
}

// Defaults that a source may hide with its own. Everything here is found at compile time, so a
// misspelt name is a default that stays in force: `static constexpr int kRanks = 5` sets no rank.
// `ctprof plugins` shows what arrived.
struct AnySource {
  // For messages and provenance. Give one where a plugin has several sources; else it is the
  // plugin's.
  static constexpr const char* kName = nullptr;
  // Among several that can fill a column, the highest wins. ctprof's own have 0 where they read
  // /proc, 10 for taskstats, 20 for BPF.
  static constexpr std::int32_t kRank = 0;
  // Further columns that it reads, made by `reads` (reads.hpp).
  static constexpr std::array<const char*, 0> kReads{};
  // How many counters of its own it keeps (Batch::tally).
  static constexpr std::uint32_t kTallies = 0;
  // The object in the file that `summarise` fills; two sources of a plugin may share one.
  static constexpr const char* kSummaryKey = nullptr;
  // Refuses what this host cannot give. Called once for each capture, before any object is made,
  // and must return within 5 s. If it throws, all offers are refused with the exception's words.
  static void probe(const Host&, const Probe&) {}
  // Called once after the last batch.
  static void summarise(const Summary&) {}
};

// One row a thread. Batch::threads() gives their addresses.
// The stage that most plugins want: `collect` is called with up to 1,024 threads at a time, from
// several workers side by side. A thread may end at any moment; what it no longer tells is
// ThreadGone.
struct ThreadSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_THREAD;
  static constexpr auto kStageReads = reads(kTgid, kTid, optional<kTaskDir>);
};

// One row a process; `batch.input(kProcessTgid)` is its id.
// For figures that the kernel keeps once for all threads, such as memory. A group of threads shows
// each process once.
struct ProcessSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_PROCESS;
  static constexpr auto kStageReads = reads(kProcessTgid);
};

// One row a cgroup; `batch.input(kCgroupPath)` is its path.
// Every cgroup, or, where only these are wanted, every one that a thread lives in with its
// ancestors. Paths are relative to Host::cgroup(), and begin with "/".
struct CgroupSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_CGROUP;
  static constexpr auto kStageReads = reads(kCgroupPath);
};

// Lists the threads, and fills what it offers on the way: `void list(const Listing&)` instead of
// collect. Only where you know all threads sooner than a walk of /proc does. See listing.hpp.
struct ListSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_LIST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Lists threads that end while a window is open. `start(const Window&)` begins to watch, `stop()`
// ends it, and `drain(const Listing&)` hands over what came since the last time; it is called again
// and again, once more after stop(). One object does all of it, on one thread at a time. kTgid,
// kTid, kComm, kStartTime and kEndedAt must be among its offers.
//
//   class Ends : public sdk::ExitedSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm,
//                                                 sdk::kStartTime, sdk::kEndedAt, kMyOwn);
//     void start(const sdk::Window& window);     // throws where it cannot
//     void drain(const sdk::Listing& listing);   // as in listing.hpp
//     void stop();
//   };
struct ExitedSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_EXITED;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Records call stacks while a window is open: `start(const Window&)`, `drain(const Records&)`,
// `stop()`, and `window_ends()` and `window_opens()` where they are of use; records.hpp says more,
// and has an example. What it offers is stored as stacks, or as a number (CTPROF_U64).
struct RecordSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_RECORD;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// One row, for figures of the whole machine.
struct HostSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_HOST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Calls `function`; the words of an exception go to `message`. 0, or 1 when it threw.
//
// No exception may cross the boundary; the tables below run every function of a source through
// this. Use it for functions of your own that you hand to ctprof.
template <class Function>
std::int32_t contained(char* message, std::size_t size, Function function) noexcept {
  try {
    function();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, size, "%s", error.what());
  } catch (...) {
    std::snprintf(message, size, "an exception without words");
  }
  return 1;
}

// The ABI's view of a source class. You need it only for a plugin whose table you build yourself;
// CTPROF_PLUGIN does the rest.
template <class S>
class SourceTable {
  // Works while a window is open.
  static constexpr bool kIsStarted =
      S::kStage == CTPROF_STAGE_EXITED || S::kStage == CTPROF_STAGE_RECORD;

  // Constants, so that the exported table is complete before anything runs.
  static constexpr auto kOfferTable = [] {
    std::array<ctprof_offer, S::kOffers.size()> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {&S::kOffers[i], S::kRank, 0};
    return table;
  }();

  // What the stage brings, then what the source asks for; and one item more, as no array may be
  // empty.
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

  // A probe that throws refuses everything, with its words.
  static void probe(const ctprof_host* host, const ctprof_probe* probe) noexcept {
    char message[256];
    const Probe answer(*probe, kOfferArray);
    if (contained(message, sizeof message, [&] { S::probe(Host(*host), answer); }) != 0)
      answer.refuse_all(Gap::SourceFailed, message);
  }

  static std::int32_t open_worker(const ctprof_host* host, void** worker, char* message,
                                  std::size_t size) noexcept {
    return contained(message, size, [&] { *worker = new S(Host(*host)); });
  }

  // A batch counts as done unless it threw. If descriptors ran out meanwhile, that is said once.
  static std::int32_t collect(void* worker, ctprof_batch* batch) noexcept {
    return contained(batch->message, batch->message_size, [&] {
      static_cast<S*>(worker)->collect(Batch(*batch, kOfferArray, kReadArray));
      batch->rows_done = batch->rows;
      if (const char* shortage = take_shortage())
        std::snprintf(batch->message, batch->message_size, "%s", shortage);
    });
  }

  static std::int32_t list(void* worker, ctprof_listing* listing) noexcept {
    return contained(listing->message, listing->message_size, [&] {
      static_cast<S*>(worker)->list(Listing(*listing, kOfferArray, kReadArray));
    });
  }

  // A source with its being started and stopped; both once, whatever the core calls.
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
    started.was_stopped = status != 0;  // what did not start is not stopped
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
    char message[256];
    if (started->was_started && !started->was_stopped) stop(worker, message, sizeof message);
    delete started;
  }

  static void close_worker(void* worker) noexcept { delete static_cast<S*>(worker); }

  static void summarise(const ctprof_summary* summary) noexcept {
    char message[256];
    contained(message, sizeof message, [&] { S::summarise(Summary(*summary)); });
  }

 public:
  // The table, of a plugin of that name.
  static constexpr ctprof_source make(const char* plugin_name) {
    ctprof_source table = common(plugin_name);
    if constexpr (S::kStage == CTPROF_STAGE_LIST) {
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
            .window_opens = nullptr};
  }
};

}  // namespace ctprof::sdk
