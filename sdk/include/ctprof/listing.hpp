// For sources that list the threads: where they write the rows, and the names of threads.
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
// ctprof asks the lister with the best rank. If `list` throws, its rows are discarded, and the
// capture is made without its source: by another lister, or by walking /proc.
//
// What is here:   Listing, ListedRows, and names as the kernel gives them.
// What is not:    the base class of such sources, ListSource (source.hpp); the columns that say who
//                 a thread is (reads.hpp).

#pragma once

#include <cstdint>
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

  // Only these processes are wanted; none: all.
  std::span<const std::uint64_t> pids() const { return {abi_->pids, abi_->pids_count}; }

  // CTPROF_MAX_ROWS rows to fill; nothing when ctprof has had enough.
  std::optional<Batch> room() const {
    ctprof_batch* batch = abi_->room(abi_->core);
    return batch ? std::optional<Batch>(std::in_place, *batch, *offers_, *reads_) : std::nullopt;
  }
  // So many rows of the room are filled, from the first on.
  void commit(std::uint32_t rows) const { abi_->commit(abi_->core, rows); }

  // Of threads that ended: so many more whose figures a full buffer lost, and of which nothing is
  // known.
  void count_lost(std::uint64_t lost) const { abi_->lost += lost; }
  void count_unseen(std::uint64_t unseen) const { abi_->unseen += unseen; }

 private:
  ctprof_listing* abi_;
  const ctprof_array* offers_;
  const ctprof_array* reads_;
};

// Rows of a listing, one after the other, for a source that is handed its threads singly. `Columns`
// is a class of yours that is made of a Batch:
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

  // Goes on to another row, none of whose cells is filled; false if ctprof has no room for it.
  bool add() {
    if (columns_ && rows_ == CTPROF_MAX_ROWS) commit();
    if (!columns_) {
      const auto batch = listing_->room();
      if (!batch) return false;
      columns_.emplace(*batch);
    }
    ++rows_;
    return true;
  }

  // The row that add() went on to, and its columns. REQUIRES: it returned true.
  Columns& columns() { return *columns_; }
  std::uint32_t row() const { return rows_ - 1; }

  // Hands over what was added. Call it last; what is not handed over was never there.
  void commit() {
    if (columns_) listing_->commit(rows_);
    columns_.reset();
    rows_ = 0;
  }

 private:
  const Listing* listing_;
  std::optional<Columns> columns_;
  std::uint32_t rows_ = 0;
};

// A thread's name is the bytes that prctl(PR_SET_NAME) or exec left, blanks at its ends included:
// "a" and "a " are two names, and a thread may call itself "\t". So nothing is trimmed:
//
//   sdk::name_in_comm("a b \n")              "a b "
//   sdk::worker_name("kworker/0:1-events")   "kworker/0:1"

// The name in a file /proc/PID/task/TID/comm. The line end at the end of the text is the file's.
inline std::string_view name_in_comm(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// The name of a workqueue's worker without its current work, which the kernel appends wherever it
// prints the name (wq_worker_comm() in kernel/workqueue.c), so that one thread would look like two:
// "kworker/0:1" for "kworker/0:1-events" and for "kworker/0:1+events". The dash of a rescuer
// belongs to its name: "kworker/R-nfsiod" stays.
//
// REQUIRES: the name of a thread with PF_WQ_WORKER (0x20) among its flags, field 9 of its stat;
// any user's thread may call itself "kworker/0:1-mine".
inline std::string_view worker_name(std::string_view name) {
  const auto colon = name.find(':');
  if (!name.starts_with("kworker/") || colon == name.npos) return name;
  return name.substr(0, name.find_first_of("-+", colon));
}

}  // namespace ctprof::sdk
