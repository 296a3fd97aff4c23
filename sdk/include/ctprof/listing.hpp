// Classes for sources that list the threads, which receive the rows, and functions for thread
// names.
//
//   static constexpr auto kOffers =
//       sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kStartTime, kMyOwn);
//
//   void list(const sdk::Listing& listing) {
//     while (const auto room = listing.room()) {
//       auto tgid = room->column(sdk::kTgid), tid = room->column(sdk::kTid);
//       ...
//       std::uint32_t rows = 0;
//       while (rows < CTPROF_MAX_ROWS && next_thread()) {
//         tgid.put(rows, ...);
//         tid.put(rows, ...);
//         ...
//         ++rows;
//       }
//       listing.commit(rows);
//       if (rows < CTPROF_MAX_ROWS) return;              // no more threads
//     }
//   }
//
// ctprof uses the lister with the highest rank. If `list` throws, its rows are discarded, and the
// capture continues without its source, with another lister or by walking /proc.
//
// Contents:   Listing, ListedRows, and functions for thread names of the kernel.
// See also:   source.hpp for the base class ListSource; reads.hpp for the columns that identify a
//             thread.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/reads.hpp"

namespace ctprof::sdk {

class Listing {
 public:
  Listing(ctprof_listing& listing, const ctprof_array& offers, const ctprof_array& reads)
      : abi_(&listing), offers_(&offers), reads_(&reads) {}

  // The processes to list; empty: all.
  std::span<const std::uint64_t> pids() const { return {abi_->pids, abi_->pids_count}; }

  // Returns CTPROF_MAX_ROWS rows to fill, or nothing if ctprof accepts no more rows.
  std::optional<Batch> room() const {
    ctprof_batch* batch = abi_->room(abi_->core);
    return batch ? std::optional<Batch>(std::in_place, *batch, *offers_, *reads_) : std::nullopt;
  }
  // Commits the first `rows` rows of the batch that room() returned last.
  void commit(std::uint32_t rows) const { abi_->commit(abi_->core, rows); }

  // Count exited threads: those whose values a full buffer lost, and those without any values.
  void count_lost(std::uint64_t lost) const { abi_->lost += lost; }
  void count_unseen(std::uint64_t unseen) const { abi_->unseen += unseen; }

 private:
  ctprof_listing* abi_;
  const ctprof_array* offers_;
  const ctprof_array* reads_;
};

// Adds rows to a listing one at a time, for a source that receives its threads singly. `Columns` is
// a class of the source that is constructed from a Batch:
//
//   sdk::ListedRows<MyColumns> rows(listing);
//   for (const Thread& thread : threads()) {
//     if (!rows.add()) break;
//     rows.columns().put(rows.row(), thread);
//   }
//   rows.commit();
template <class Columns>
class ListedRows {
 public:
  // REQUIRES: the listing outlives this.
  explicit ListedRows(const Listing& listing) : listing_(&listing) {}

  // Adds a row with empty cells; returns false if ctprof accepts no more rows.
  bool add() {
    if (columns_ && rows_ == CTPROF_MAX_ROWS) commit();
    if (!columns_) {
      const auto batch = listing_->room();
      if (!batch) return false;
      columns_ = std::make_unique<Columns>(*batch);
    }
    ++rows_;
    return true;
  }

  // The row that add() added, and its columns. REQUIRES: add() returned true.
  Columns& columns() { return *columns_; }
  std::uint32_t row() const { return rows_ - 1; }

  // Commits the rows that were added. Call it last; rows that are not committed are discarded.
  void commit() {
    if (columns_) listing_->commit(rows_);
    columns_.reset();
    rows_ = 0;
  }

 private:
  const Listing* listing_;
  std::unique_ptr<Columns> columns_;
  std::uint32_t rows_ = 0;
};

// The name of a thread consists of the bytes that prctl(PR_SET_NAME) or exec set, including blanks
// at its ends: "a" and "a " are two names, and a thread may call itself "\t". So these functions do
// not trim names:
//
//   sdk::name_in_comm("a b \n")              "a b "
//   sdk::worker_name("kworker/0:1-events")   "kworker/0:1"

// Returns the name in a file /proc/PID/task/TID/comm. The newline at the end belongs to the file,
// not to the name.
inline std::string_view name_in_comm(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// Returns the name of a workqueue's worker without its current work: "kworker/0:1" for
// "kworker/0:1-events" and "kworker/0:1+events". The kernel appends the work wherever it prints the
// name (wq_worker_comm() in kernel/workqueue.c), so one thread would appear under several names.
// The dash of a rescuer belongs to its name: "kworker/R-nfsiod" is unchanged.
//
// REQUIRES: the name of a thread with PF_WQ_WORKER (0x20) in its flags, field 9 of its stat,
// because a thread of any user may call itself "kworker/0:1-mine".
inline std::string_view worker_name(std::string_view name) {
  const auto colon = name.find(':');
  if (!name.starts_with("kworker/") || colon == name.npos) return name;
  return name.substr(0, name.find_first_of("-+", colon));
}

}  // namespace ctprof::sdk
