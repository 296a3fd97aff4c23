// Sources: classes that fill cells, and what turns them into the ABI's tables.
//
// A source is a class with a base for its stage, a list of what it offers, and `collect`:
//
//   class Wchan : public sdk::ThreadSource {
//    public:
//     static constexpr auto kOffers = sdk::offers(kWchan);
//     static void probe(const sdk::Host& host, const sdk::Probe& probe) { ... }   // optional
//     explicit Wchan(const sdk::Host& host);                                      // one object per
//     worker void collect(const sdk::Batch& batch);
//   };
//
// Objects are made and used by one worker each; `collect` may throw, and what it left untouched
// becomes SourceFailed with the exception's words.
//
// What is here:   the stages' bases, offers(), SourceTable.
// What is not:    what a lister writes to (listing.hpp), cells (batch.hpp), the exported constant
// (plugin.hpp).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"
#include "ctprof/identity.hpp"
#include "ctprof/listing.hpp"
#include "ctprof/metric.hpp"
#include "ctprof/reads.hpp"
#include "ctprof/shortage.hpp"

namespace ctprof::sdk {

// What a source fills, best declared as `static constexpr auto kOffers = offers(kOne, kTwo)`.
template <std::size_t N>
using Offers = std::array<ctprof_metric, N>;

template <class... Metrics>
constexpr Offers<sizeof...(Metrics)> offers(const Metrics&... metrics) {
  return {metrics.abi...};
}

// What a source says once the capture is over: its object in the file, and sentences for the user.
class Summary {
 public:
  explicit Summary(const ctprof_summary& summary) : abi_(&summary) {}

  std::uint64_t tally(std::uint32_t which) const { return abi_->tallies[which]; }
  std::uint64_t rows_listed() const { return abi_->rows_listed; }
  std::uint64_t rows_absent() const { return abi_->rows_absent; }

  // A dot in `key` opens an inner object.
  void put(const char* key, std::uint64_t value) const { abi_->put_u64(abi_->core, key, value); }
  void put(const char* key, bool value) const { abi_->put_bool(abi_->core, key, value ? 1 : 0); }
  void put(const char* key, std::string_view text) const {
    abi_->put_text(abi_->core, key, text.data(), text.size());
  }
  void put_null(const char* key) const { abi_->put_text(abi_->core, key, nullptr, 0); }
  void note(std::string_view sentence) const {
    abi_->note(abi_->core, sentence.data(), sentence.size());
  }

  // The plugin's context (Host::context in host.hpp).
  template <class Context>
  Context& context() const {
    constexpr std::size_t kSizeWithContext =
        offsetof(ctprof_summary, context) + sizeof(ctprof_summary::context);
    if (abi_->size < kSizeWithContext || !abi_->context)
      throw std::runtime_error("this ctprof opens no plugins");
    return *static_cast<Context*>(abi_->context);
  }

 private:
  const ctprof_summary* abi_;
};

// Defaults that a source may hide with its own.
struct AnySource {
  static constexpr const char* kName = nullptr;          // the plugin's name
  static constexpr std::int32_t kRank = 0;               // among several that can, the highest wins
  static constexpr std::array<const char*, 0> kReads{};  // further columns it reads
  static constexpr std::uint32_t kTallies = 0;
  static constexpr const char* kSummaryKey = nullptr;
  static void probe(const Host&, const Probe&) {}
  static void summarise(const Summary&) {}
};

// One row a thread. Batch::threads() gives their addresses.
struct ThreadSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_THREAD;
  static constexpr auto kStageReads = reads(kTgid, kTid, optional<kTaskDir>);
};

// One row a process; input "process.tgid" is its id.
struct ProcessSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_PROCESS;
  static constexpr auto kStageReads = reads(kProcessTgid);
};

// One row a cgroup; input "cgroup.path" is its path (ctprof_text).
struct CgroupSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_CGROUP;
  static constexpr auto kStageReads = reads(kCgroupPath);
};

// Lists the threads, and fills what it offers on the way: `void list(const Listing&)` instead of
// collect.
struct ListSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_LIST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// One row.
struct HostSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_HOST;
  static constexpr std::array<const char*, 0> kStageReads{};
};

// Runs `deed`; an exception's words go to `message`. 0, or 1 when it threw.
template <class Deed>
std::int32_t contained(char* message, std::size_t size, Deed deed) noexcept {
  try {
    deed();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, size, "%s", error.what());
  } catch (...) {
    std::snprintf(message, size, "an exception without words");
  }
  return 1;
}

// The ABI's view of a source class.
template <class S>
class SourceTable {
  static constexpr auto kOfferTable = [] {
    std::array<ctprof_offer, S::kOffers.size()> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {&S::kOffers[i], S::kRank, 0};
    return table;
  }();

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

  static void close_worker(void* worker) noexcept { delete static_cast<S*>(worker); }

  static void summarise(const ctprof_summary* summary) noexcept {
    char message[256];
    contained(message, sizeof message, [&] { S::summarise(Summary(*summary)); });
  }

 public:
  static constexpr ctprof_source make(const char* plugin_name) {
    ctprof_source table = common(plugin_name);
    if constexpr (S::kStage == CTPROF_STAGE_LIST)
      table.list = &list;
    else
      table.collect = &collect;
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
            .stop = nullptr};
  }
};

}  // namespace ctprof::sdk
