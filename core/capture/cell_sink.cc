#include "core/capture/cell_sink.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ctprof {
namespace {

// Marks a cell of a pooled column to which the source has not put a value yet.
constexpr Id kNoValue = UINT32_MAX;
// Marks a cell whose map was discarded. The source writes the gap byte after its call of put_map,
// so the gap is set when the source has returned.
constexpr Id kDiscardedMap = UINT32_MAX - 1;

void mark_missing_values(std::span<Id> ids, std::span<ctprof_gap> gaps) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != kNoValue && ids[i] != kDiscardedMap) continue;
    if (gaps[i] == CTPROF_VALUE)
      gaps[i] = ids[i] == kDiscardedMap ? CTPROF_MALFORMED : CTPROF_UNTOUCHED;
    ids[i] = 0;
  }
}

void reject_non_finite(std::span<const double> values, std::span<ctprof_gap> gaps) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (gaps[i] == CTPROF_VALUE && !std::isfinite(values[i])) gaps[i] = CTPROF_MALFORMED;
}

CellSink& sink_of(void* core) { return *static_cast<CellSink*>(core); }

}  // namespace

void prepare_cells(Column& column, std::size_t first_row, std::size_t rows) {
  if (is_pooled(column.def().storage))
    std::ranges::fill(column.ids().subspan(first_row, rows), kNoValue);
}

void validate_cells(Column& column, std::size_t first_row, std::size_t rows) {
  const auto gaps = column.gaps().subspan(first_row, rows);
  const Storage storage = column.def().storage;
  if (is_pooled(storage)) mark_missing_values(column.ids().subspan(first_row, rows), gaps);
  if (storage == Storage::F64) reject_non_finite(column.f64().subspan(first_row, rows), gaps);
  if (storage == Storage::Bool)
    for (std::uint8_t& value : column.bools().subspan(first_row, rows)) value = value ? 1 : 0;
}

CellSink::CellSink(const std::vector<Column*>& columns, Pools& pools, std::uint32_t tallies)
    : columns_(columns),
      pools_(pools),
      texts_(pools.texts),
      last_texts_(columns.size()),
      tallies_(tallies) {}

void CellSink::set_rows(std::size_t first_row, std::uint32_t rows) {
  first_row_ = first_row;
  rows_ = rows;
}

void CellSink::set_error(std::string description) {
  if (error_.empty()) error_ = std::move(description);
}

void CellSink::connect(ctprof_batch& batch) {
  batch.core = this;
  batch.put_text = &put_text;
  batch.put_bits = &put_bits;
  batch.put_map = &put_map;
  batch.put_array = &put_array;
  batch.tally = &tally;
}

// Returns the cell's column; null if it was not selected, or if the call is wrong.
Column* CellSink::column(std::uint32_t offer, std::uint32_t row, Storage storage) {
  if (offer >= columns_.size())
    return set_error("put a value into offer " + std::to_string(offer) +
                     ", which it does not have"),
           nullptr;
  if (row >= rows_)
    return set_error("put a value into row " + std::to_string(row) + " of a batch of " +
                     std::to_string(rows_)),
           nullptr;
  Column* column = columns_[offer];
  if (column && column->def().storage != storage)
    return set_error("put a " + std::string(name(storage)) + " into '" + column->def().name + "'"),
           nullptr;
  return column;
}

void CellSink::put(Column& column, std::uint32_t row, Id id) const {
  column.ids()[first_row_ + row] = id;
  column.gaps()[first_row_ + row] = CTPROF_VALUE;
}

Id CellSink::intern(std::uint32_t offer, std::string_view text) {
  LastText& last = last_texts_[offer];
  if (last.id && last.text == text) return *last.id;
  last.id = texts_.intern(text);
  last.text = text;
  return *last.id;
}

Id CellSink::intern(std::span<const std::uint64_t> words) {
  if (last_words_id_ && std::ranges::equal(words, last_words_)) return *last_words_id_;
  last_words_id_ = pools_.words.intern(words);
  last_words_.assign(words.begin(), words.end());
  return *last_words_id_;
}

void CellSink::put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data,
                        std::size_t size) {
  CellSink& sink = sink_of(core);
  if (Column* column = sink.column(offer, row, Storage::String))
    sink.put(*column, row, sink.intern(offer, {data, size}));
}

void CellSink::put_bits(void* core, std::uint32_t offer, std::uint32_t row,
                        const std::uint64_t* words, std::size_t count) {
  CellSink& sink = sink_of(core);
  while (count > 0 && words[count - 1] == 0) --count;
  if (Column* column = sink.column(offer, row, Storage::Bitset))
    sink.put(*column, row, sink.intern({words, count}));
}

void CellSink::put_map(void* core, std::uint32_t offer, std::uint32_t row,
                       const ctprof_entry* entries, std::size_t count) {
  CellSink& sink = sink_of(core);
  if (Column* column = sink.column(offer, row, Storage::Map))
    sink.put_checked_map(*column, row, {entries, count});
}

void CellSink::put_checked_map(Column& column, std::uint32_t row,
                               std::span<const ctprof_entry> entries) {
  for (const ctprof_entry& entry : entries) {
    const std::string_view key(entry.key.data, entry.key.size);
    if (is_valid_map_key(column.def(), key)) continue;
    map_faults_.count_malformed_map(column.def(), key);
    return put(column, row, kDiscardedMap);
  }
  if (entries.size() <= CTPROF_MAX_MAP_KEYS)
    return put(column, row, pools_.maps.append(entries, pools_.texts));
  std::vector<ctprof_entry> sorted = sort_by_key(entries);
  if (sorted.size() > CTPROF_MAX_MAP_KEYS) {
    map_faults_.count_dropped_keys(column.def(), sorted.size() - CTPROF_MAX_MAP_KEYS);
    sorted.resize(CTPROF_MAX_MAP_KEYS);
  }
  put(column, row, pools_.maps.append(sorted, pools_.texts));
}

void CellSink::put_array(void* core, std::uint32_t offer, std::uint32_t row,
                         const std::uint64_t* values, std::size_t count) {
  CellSink& sink = sink_of(core);
  if (Column* column = sink.column(offer, row, Storage::Array))
    sink.put(*column, row, sink.intern({values, count}));
}

void CellSink::tally(void* core, std::uint32_t tally, std::uint64_t count) {
  CellSink& sink = sink_of(core);
  if (tally >= sink.tallies_.size())
    sink.set_error("counted in tally " + std::to_string(tally) + ", which it does not have");
  else
    sink.tallies_[tally] += count;
}

}  // namespace ctprof
