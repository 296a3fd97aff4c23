// What a source writes to that lists the threads, and fills columns of theirs on the way.
//
//   static constexpr auto kOffers = sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kStartTime,
//   kMyOwn);
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
// Of all listers the one of the best rank is asked. If `list` throws, its rows are discarded, and
// the capture is made without its source: by another lister, or by walking /proc.
//
// What is here:   the columns that say who a thread is, and Listing.
// What is not:    the base class of such sources, ListSource (source.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ctprof/abi.h"
#include "ctprof/batch.hpp"
#include "ctprof/identity.hpp"

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

 private:
  ctprof_listing* abi_;
  const ctprof_array* offers_;
  const ctprof_array* reads_;
};

}  // namespace ctprof::sdk
