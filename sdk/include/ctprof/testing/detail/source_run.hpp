// The part of the core that one source needs: columns, batches and a probe, through the ABI.
//
//   SourceRun run(source, host);
//   run.probe();                      // fills the refusals of run.offers()
//   run.collect(rows, inputs);        // fills the cells of the selected offers
//
// A test uses testing::capture, which runs all sources of a plugin.
//
// Contents:   InputColumn, OfferRun, SourceRun.
// See also:   abi/source.h for the calls.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/labels.hpp"
#include "ctprof/testing/capture.hpp"
#include "ctprof/testing/cells.hpp"

namespace ctprof::sdk::testing::detail {

// A column that a source reads, in the form of the ABI. The type of the column is that of its first
// value.
class InputColumn {
 public:
  // REQUIRES: `cells` outlives the object.
  explicit InputColumn(const std::vector<Cell>& cells) {
    const auto first = std::find_if(cells.begin(), cells.end(),
                                    [](const Cell& cell) { return cell.gap() == Gap::None; });
    is_text_ = first != cells.end() && first->holds<std::string>();
    is_flag_ = first != cells.end() && first->holds<bool>();
    for (const Cell& cell : cells) add(cell);
  }

  // Returns the rows from `first` on, valid as long as the object.
  ctprof_input from(std::size_t first) const {
    const void* values = numbers_.data() + first;
    if (is_text_) values = texts_.data() + first;
    if (is_flag_) values = flags_.data() + first;
    return {values, gaps_.data() + first};
  }

 private:
  void add(const Cell& cell) {
    gaps_.push_back(static_cast<ctprof_gap>(cell.gap()));
    numbers_.push_back(cell.bits());
    flags_.push_back(cell.holds<bool>() && cell.get<bool>());
    texts_.push_back({});
    if (!cell.holds<std::string>()) return;
    const std::string& text = cell.get<std::string>();
    texts_.back() = {text.data(), text.size()};
  }

  bool is_text_, is_flag_;
  std::vector<std::uint64_t> numbers_;
  std::vector<ctprof_text> texts_;
  std::vector<std::uint8_t> flags_;
  std::vector<ctprof_gap> gaps_;
};

// A metric that a source offers, and its results in one capture.
struct OfferRun {
  const ctprof_offer* offer;
  Refusal refusal;                 // the gap None: it is not refused
  std::vector<std::string> lacks;  // what `probe` reported about values that remain gaps
  bool is_selected = false;        // whether this source fills the column
  std::vector<Cell> cells;         // by row
};

// One source in one capture. Only for one thread.
class SourceRun {
 public:
  // REQUIRES: both arguments outlive the object.
  SourceRun(const ctprof_source& source, const ctprof_host& host)
      : source_(source), host_(host), name_(source.name), tallies_(source.tallies_count) {
    const auto* items = static_cast<const char*>(source.offers.items);
    for (std::uint32_t i = 0; i < source.offers.count; ++i, items += source.offers.item_size)
      offers_.push_back({reinterpret_cast<const ctprof_offer*>(items), {}, {}, false, {}});
  }
  SourceRun(const SourceRun&) = delete;
  SourceRun& operator=(const SourceRun&) = delete;

  // Fills `refusal` and `lacks` of the offers.
  void probe() {
    const ctprof_probe probe{.size = sizeof(ctprof_probe),
                             .reserved = 0,
                             .core = this,
                             .refuse = &refuse,
                             .remedy = &add_remedy};
    if (source_.probe) source_.probe(&host_, &probe);
  }

  // Fills `cells` of the selected offers, in batches, with one worker. `inputs` has one item for
  // each column that the source reads; null if nothing fills it.
  void collect(std::size_t rows, const std::vector<const InputColumn*>& inputs) {
    for (OfferRun& offer : offers_) offer.cells.assign(rows, Gap::SourceFailed);
    std::array<char, 512> message{};
    void* worker = nullptr;
    if (source_.open_worker(&host_, &worker, message.data(), message.size()) != 0)
      return fail(std::string("open_worker: ") + message.data());
    for (first_ = 0; first_ < rows; first_ += CTPROF_MAX_ROWS) {
      rows_ = std::min<std::size_t>(rows - first_, CTPROF_MAX_ROWS);
      collect_batch(worker, inputs);
    }
    source_.close_worker(worker);
  }

  // Returns the name of each column that the source reads; a trailing ? marks an optional one.
  std::vector<std::string> reads() const {
    std::vector<std::string> names;
    const auto* items = static_cast<const char* const*>(source_.reads.items);
    for (std::uint32_t i = 0; i < source_.reads.count; ++i) names.emplace_back(items[i]);
    return names;
  }

  const ctprof_source& source() const { return source_; }
  std::vector<OfferRun>& offers() { return offers_; }
  const std::vector<std::uint64_t>& tallies() const { return tallies_; }
  // Violations of the contract, and messages of calls that failed: "NAME: SENTENCE".
  const std::vector<std::string>& failures() const { return failures_; }
  // Messages of calls that succeeded.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  // The cells of one offer in one batch, as the source writes them.
  struct Written {
    std::array<std::uint64_t, CTPROF_MAX_ROWS> numbers{};
    std::array<ctprof_gap, CTPROF_MAX_ROWS> gaps{};
  };

  void collect_batch(void* worker, const std::vector<const InputColumn*>& columns) {
    written_.assign(offers_.size(), {});
    std::vector<ctprof_cells> targets(offers_.size() + 1);
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      if (!offers_[i].is_selected) continue;
      written_[i].gaps.fill(CTPROF_UNTOUCHED);
      const bool is_direct = offers_[i].offer->metric->storage < CTPROF_STRING;
      targets[i] = {is_direct ? written_[i].numbers.data() : nullptr, written_[i].gaps.data()};
    }
    std::vector<ctprof_input> inputs(columns.size() + 1);
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i]) inputs[i] = columns[i]->from(first_);
    call_collect(worker, inputs.data(), targets.data());
    for (std::size_t i = 0; i < offers_.size(); ++i)
      for (std::size_t row = 0; offers_[i].is_selected && row < rows_; ++row) store(i, row);
  }

  void call_collect(void* worker, const ctprof_input* inputs, const ctprof_cells* targets) {
    std::array<char, 512> message{};
    ctprof_batch batch{.size = sizeof(ctprof_batch),
                       .rows = static_cast<std::uint32_t>(rows_),
                       .inputs = inputs,
                       .cells = targets,
                       .core = this,
                       .put_text = &put_text,
                       .put_bits = &put_bits,
                       .put_map = &put_map,
                       .put_array = &put_array,
                       .tally = &add_tally,
                       .rows_done = 0,
                       .reserved = 0,
                       .longest_stop_ns = 0,
                       .message = message.data(),
                       .message_size = message.size()};
    has_failed_ = source_.collect(worker, &batch) != 0;
    if (has_failed_)
      fail(message.data());
    else if (batch.rows_done != rows_)
      fail("it reports " + std::to_string(batch.rows_done) + " of " + std::to_string(rows_) +
           " rows as done");
    else if (message[0] != '\0')
      remarks_.emplace_back(message.data());
  }

  // Moves one cell of the batch to the results. A cell that the source did not fill becomes
  // SourceFailed, as in ctprof.
  void store(std::size_t offer, std::size_t row) {
    const ctprof_gap gap = written_[offer].gaps[row];
    const ctprof_storage storage = offers_[offer].offer->metric->storage;
    Cell& cell = offers_[offer].cells[first_ + row];
    if (gap != CTPROF_VALUE && may_be_written(gap))
      cell = static_cast<Gap>(gap);
    else if (gap == CTPROF_VALUE && storage < CTPROF_STRING)
      cell = direct_value(storage, written_[offer], row);
    else if (gap != CTPROF_VALUE && !has_failed_)
      fail("it leaves a cell of '" + std::string(offers_[offer].offer->metric->name) +
           "' without a value or a gap");
  }

  static Cell direct_value(ctprof_storage storage, const Written& written, std::size_t row) {
    if (storage == CTPROF_U64) return written.numbers[row];
    if (storage == CTPROF_I64) return static_cast<std::int64_t>(written.numbers[row]);
    if (storage == CTPROF_BOOL)
      return reinterpret_cast<const std::uint8_t*>(written.numbers.data())[row] != 0;
    double number = 0;
    std::memcpy(&number, &written.numbers[row], sizeof number);
    return std::isfinite(number) ? Cell(number) : Cell(Gap::Malformed);
  }

  // Adds a failure, once.
  void fail(const std::string& sentence) {
    const std::string failure = name_ + ": " + sentence;
    if (std::find(failures_.begin(), failures_.end(), failure) == failures_.end())
      failures_.push_back(failure);
  }

  // Returns why ctprof does not store the map completely, or "".
  std::string find_map_fault(std::uint32_t offer, const Cell::Map& map) const {
    if (offer >= offers_.size()) return "";
    const ctprof_metric& metric = *offers_[offer].offer->metric;
    const bool has_labels = metric.size >= sizeof metric && metric.labels;
    if (map.size() > CTPROF_MAX_MAP_KEYS)
      return "it puts more than " + std::to_string(CTPROF_MAX_MAP_KEYS) + " keys into a cell of '" +
             metric.name + "'";
    for (const auto& [key, number] : map)
      if (has_labels && std::strchr(metric.labels, ',') && !is_label_pair(key))
        return "it puts the key '" + key + "' into '" + metric.name +
               "', whose keys consist of two labels";
    return "";
  }

  // Stores a value that the source passes to a function.
  void put(std::uint32_t offer, std::uint32_t row, ctprof_storage storage, Cell value) {
    if (offer >= offers_.size() || row >= rows_)
      return fail("it puts a value into offer " + std::to_string(offer) + ", row " +
                  std::to_string(row) + ", which does not exist");
    if (offers_[offer].offer->metric->storage != storage)
      return fail("it puts a value of another type into '" +
                  std::string(offers_[offer].offer->metric->name) + "'");
    if (!offers_[offer].is_selected) return;
    offers_[offer].cells[first_ + row] = std::move(value);
    written_[offer].gaps[row] = CTPROF_VALUE;
  }

  static SourceRun& run_of(void* core) { return *static_cast<SourceRun*>(core); }

  static void put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data,
                       std::size_t size) {
    run_of(core).put(offer, row, CTPROF_STRING, std::string(data, size));
  }
  static void put_bits(void* core, std::uint32_t offer, std::uint32_t row,
                       const std::uint64_t* words, std::size_t count) {
    run_of(core).put(offer, row, CTPROF_BITSET, Cell::Words(words, words + count));
  }
  static void put_array(void* core, std::uint32_t offer, std::uint32_t row,
                        const std::uint64_t* numbers, std::size_t count) {
    run_of(core).put(offer, row, CTPROF_ARRAY, Cell::Words(numbers, numbers + count));
  }
  static void put_map(void* core, std::uint32_t offer, std::uint32_t row,
                      const ctprof_entry* entries, std::size_t count) {
    Cell::Map map;
    for (std::size_t i = 0; i < count; ++i)
      map.emplace(std::string(entries[i].key.data, entries[i].key.size), entries[i].value);
    if (map.size() < count) run_of(core).fail("it puts a map in which a key occurs twice");
    if (const std::string fault = run_of(core).find_map_fault(offer, map); !fault.empty())
      return run_of(core).fail(fault);
    run_of(core).put(offer, row, CTPROF_MAP, std::move(map));
  }
  static void add_tally(void* core, std::uint32_t tally, std::uint64_t count) {
    SourceRun& run = run_of(core);
    if (tally >= run.tallies_.size())
      return run.fail("it counts in tally " + std::to_string(tally) + ", which it does not have");
    run.tallies_[tally] += count;
  }
  static void refuse(void* core, std::uint32_t offer, ctprof_gap gap, const char* reason,
                     std::size_t size) {
    SourceRun& run = run_of(core);
    if (offer >= run.offers_.size()) return run.fail("it refuses an offer that it does not have");
    run.offers_[offer].refusal = {static_cast<Gap>(gap), std::string(reason, size), ""};
  }
  static void add_remedy(void* core, std::uint32_t offer, const char* lack, std::size_t lack_size,
                         ctprof_remedy, const char* what, std::size_t what_size) {
    SourceRun& run = run_of(core);
    if (offer >= run.offers_.size()) return run.fail("it names an offer that it does not have");
    if (lack_size > 0)
      run.offers_[offer].lacks.emplace_back(lack, lack_size);
    else
      run.offers_[offer].refusal.remedy.assign(what, what_size);
  }

  const ctprof_source& source_;
  const ctprof_host& host_;
  const std::string name_;
  std::vector<OfferRun> offers_;
  std::vector<std::uint64_t> tallies_;
  std::vector<std::string> failures_, remarks_;
  // The current batch.
  std::vector<Written> written_;
  std::size_t first_ = 0, rows_ = 0;
  bool has_failed_ = false;
};

}  // namespace ctprof::sdk::testing::detail
