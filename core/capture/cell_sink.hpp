// Receives the put_* calls of a source's batch. Stores values in the pools and their ids in the
// cells.
//
// A call with a row outside the batch, or with an offer of another storage type, changes nothing.
// The first such call is recorded as the error of the batch. A map with a malformed key becomes the
// gap Malformed, and of a map with too many keys the first are stored; both are counted.
//
// Threads: one sink per worker. Sinks of different workers may be used concurrently.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture/map_faults.hpp"
#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Prepares these rows of a column before a source fills them.
void prepare_cells(Column& column, std::size_t first_row, std::size_t rows);
// Checks these rows after the source returns. A cell marked as a value becomes Untouched if nothing
// was put there. A NaN or an infinity becomes Malformed, because rules and files cannot represent
// it.
void validate_cells(Column& column, std::size_t first_row, std::size_t rows);

class CellSink {
 public:
  // `columns`: by offer, null if the offer was not selected. REQUIRES: the columns and the pools
  // outlive the sink.
  CellSink(const std::vector<Column*>& columns, Pools& pools, std::uint32_t tallies);

  // Sets the rows of the table that subsequent calls may write.
  void set_rows(std::size_t first_row, std::uint32_t rows);
  std::size_t first_row() const { return first_row_; }
  std::uint32_t rows() const { return rows_; }

  // Describes the first wrong call, as in "put a value into row 9 of a batch of 8", or "".
  const std::string& error() const { return error_; }
  void set_error(std::string description);
  void clear_error() { error_.clear(); }

  // Counts maps and keys that were not stored.
  const MapFaults& map_faults() const { return map_faults_; }

  const std::vector<std::uint64_t>& tallies() const { return tallies_; }
  // Continues counting from these values. REQUIRES: as many tallies as this sink has, or none.
  void continue_from(const std::vector<std::uint64_t>& tallies) {
    if (tallies.size() == tallies_.size()) tallies_ = tallies;
  }

  // Sets the callbacks of a batch and its `core` to this sink. REQUIRES: the sink outlives the
  // batch.
  void connect(ctprof_batch& batch);

 private:
  Column* column(std::uint32_t offer, std::uint32_t row, Storage storage);
  void put(Column& column, std::uint32_t row, Id id) const;
  Id intern(std::uint32_t offer, std::string_view text);
  Id intern(std::span<const std::uint64_t> words);

  static void put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data,
                       std::size_t size);
  static void put_bits(void* core, std::uint32_t offer, std::uint32_t row,
                       const std::uint64_t* words, std::size_t count);
  static void put_map(void* core, std::uint32_t offer, std::uint32_t row,
                      const ctprof_entry* entries, std::size_t count);
  static void put_array(void* core, std::uint32_t offer, std::uint32_t row,
                        const std::uint64_t* values, std::size_t count);
  static void tally(void* core, std::uint32_t tally, std::uint64_t count);
  void put_checked_map(Column& column, std::uint32_t row, std::span<const ctprof_entry> entries);

  const std::vector<Column*>& columns_;
  Pools& pools_;
  TextCache texts_;
  // Caches the last values, because they often repeat from row to row: texts by offer, CPU sets.
  struct LastText {
    std::string text;
    std::optional<Id> id;
  };
  std::vector<LastText> last_texts_;
  std::vector<std::uint64_t> last_words_;
  std::optional<Id> last_words_id_;
  std::vector<std::uint64_t> tallies_;
  std::size_t first_row_ = 0;
  std::uint32_t rows_ = 0;
  std::string error_;
  MapFaults map_faults_;
};

}  // namespace ctprof
