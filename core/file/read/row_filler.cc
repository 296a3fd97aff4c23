#include "core/file/read/row_filler.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

namespace ctprof {
namespace {

constexpr std::size_t kInitialRows = 1024;
constexpr std::size_t kWordBits = 64;

Slot::Kind kind_of(const MetricDef& def) {
  using Kind = Slot::Kind;
  constexpr Kind kKinds[] = {Kind::U64,  Kind::I64,  Kind::F64, Kind::Bool,
                             Kind::Text, Kind::Bits, Kind::Map, Kind::Array};
  return is_written_as_number(def) ? Kind::ZeroOne : kKinds[static_cast<std::size_t>(def.storage)];
}

std::string_view expected_kind(Slot::Kind kind) {
  switch (kind) {
    case Slot::Kind::U64:
    case Slot::Kind::I64: return "a whole number";
    case Slot::Kind::F64: return "a number";
    case Slot::Kind::Bool: return "true or false";
    case Slot::Kind::ZeroOne: return "0 or 1";
    case Slot::Kind::Text: return "a text";
    case Slot::Kind::Bits:
    case Slot::Kind::Array: return "an array of whole numbers";
    case Slot::Kind::Map: return "an object of whole numbers";
    case Slot::Kind::Skip: break;
  }
  return "anything";
}

std::string_view text_of(const ctprof_text& text) { return {text.data, text.size}; }

}  // namespace

void RowFiller::add_column(std::size_t leaf, Column& column) {
  Slot& slot = slots_[leaf];
  slot.kind = kind_of(column.def());
  slot.bounds = bounds_of(column.def());
  slot.column = &column;
  const std::string absent = json_of_absent_cell(column.def());
  slot.may_be_null = absent.empty() || absent == "null" || slot.kind == Slot::Kind::F64;
  row_bytes_ += bytes_per_row(column.def().storage);
  ++column_count_;
  used_slots_.push_back(static_cast<std::uint32_t>(leaf));
}

bool RowFiller::grow() {
  if (rows_ == max_rows_)
    return fail("exceeds the limit of " + std::to_string(max_rows_) + " rows");
  std::size_t more = std::min(max_rows_, std::max(kInitialRows, 2 * capacity_));
  if (expected_rows_ > more && expected_rows_ * row_bytes_ < limits::kBaseMemory / 2)
    more = expected_rows_;
  budget_->column_bytes += (more - capacity_) * row_bytes_;
  if (budget_->is_exceeded()) return fail(kTooMuchMemory);
  capacity_ = more;
  for (const std::uint32_t leaf : used_slots_) {
    Slot& slot = slots_[leaf];
    slot.column->resize(capacity_, Gap::None);
    slot.gaps = slot.column->gaps().data();
  }
  return true;
}

void RowFiller::flush() {
  const std::size_t count = rows_ - flushed_rows_;
  if (count == 0) return;
  for (const std::uint32_t leaf : used_slots_) {
    const Slot& slot = slots_[leaf];
    void* to = slot.column->values_at(flushed_rows_);
    if (slot.column->def().storage == Storage::Bool)
      std::copy_n(slot.block.begin(), count, static_cast<std::uint8_t*>(to));
    else if (is_pooled(slot.column->def().storage))
      std::copy_n(slot.block.begin(), count, static_cast<Id*>(to));
    else
      std::memcpy(to, slot.block.data(), count * sizeof slot.block[0]);
  }
  flushed_rows_ = rows_;
}

void RowFiller::mark_missing() {
  for (const std::uint32_t leaf : used_slots_)
    if (const Slot& slot = slots_[leaf]; !has_value_in_row(slot))
      slot.gaps[rows_ - 1] = CTPROF_NOT_IN_FILE;
}

void RowFiller::finish() {
  flush();
  for (const std::uint32_t leaf : used_slots_) slots_[leaf].column->resize(rows_, Gap::NotInFile);
}

bool RowFiller::reject_kind(const Slot& slot, std::string_view found) {
  return fail("holds " + std::string(found) + " where " + std::string(expected_kind(slot.kind)) +
              " should be");
}

bool RowFiller::reject_range(const Slot& slot, std::string_view text) {
  return fail("is out of range for " + slot.column->def().newtype + ": " + std::string(text));
}

bool RowFiller::put_other_kind_of_number(Slot& slot, std::uint64_t value) {
  constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();
  switch (slot.kind) {
    case Slot::Kind::Skip: return true;
    case Slot::Kind::U64: break;
    case Slot::Kind::F64:
      return put(slot, std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    case Slot::Kind::I64:
      if (value > std::min(slot.bounds.max, kMaxSigned)) break;
      return put(slot, value);
    case Slot::Kind::ZeroOne:
      if (value > 1) break;
      return put(slot, value);
    default: return reject_kind(slot, "a number");
  }
  return reject_range(slot, std::to_string(value));
}

bool RowFiller::put_signed(Slot& slot, std::int64_t value, std::string_view text) {
  if (slot.kind == Slot::Kind::F64) return put_real(slot, text);
  if (value >= 0) return put_number(slot, static_cast<std::uint64_t>(value));
  switch (slot.kind) {
    case Slot::Kind::Skip: return true;
    case Slot::Kind::U64:
    case Slot::Kind::ZeroOne: return reject_range(slot, text);
    case Slot::Kind::I64:
      if (value < slot.bounds.min) return reject_range(slot, text);
      return put(slot, static_cast<std::uint64_t>(value));
    default: return reject_kind(slot, "a number");
  }
}

bool RowFiller::put_real(Slot& slot, std::string_view text) {
  if (slot.kind == Slot::Kind::Skip) return true;
  if (slot.kind != Slot::Kind::F64)
    return fail("holds " + std::string(text) + " where " + std::string(expected_kind(slot.kind)) +
                " should be");
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    return reject_range(slot, text);
  return put(slot, std::bit_cast<std::uint64_t>(value));
}

bool RowFiller::put_bool(Slot& slot, bool value) {
  if (slot.kind == Slot::Kind::Skip) return true;
  if (slot.kind != Slot::Kind::Bool) return reject_kind(slot, value ? "true" : "false");
  return put(slot, value ? 1 : 0);
}

bool RowFiller::put_null(Slot& slot) {
  if (slot.kind == Slot::Kind::Skip) return true;
  if (!slot.may_be_null) return reject_kind(slot, "null");
  if (has_value_in_row(slot)) return true;
  mark_value(slot);
  slot.gaps[rows_ - 1] = CTPROF_NOT_IN_FILE;
  return true;
}

bool RowFiller::put_text(Slot& slot, std::string_view text) {
  if (slot.kind == Slot::Kind::Skip) return true;
  if (slot.kind != Slot::Kind::Text) return reject_kind(slot, "a text");
  if (!slot.has_last || slot.last_text != text) {
    ++budget_->items;
    slot.last_id = texts_->intern(text);
    slot.last_text = pools_->texts[slot.last_id];
    slot.has_last = true;
  }
  return put(slot, slot.last_id);
}

bool RowFiller::add_item(const Slot& slot, std::uint64_t value) {
  if (slot.kind == Slot::Kind::Bits) {
    if (value >= limits::kItems)
      return fail("names a CPU beyond " + std::to_string(limits::kItems - 1) + ": " +
                  std::to_string(value));
    if (value / kWordBits >= items_.size()) items_.resize(value / kWordBits + 1);
    items_[value / kWordBits] |= std::uint64_t{1} << value % kWordBits;
    return true;
  }
  if (items_.size() == limits::kItems)
    return fail("has more than " + std::to_string(limits::kItems) + " items");
  items_.push_back(value);
  return true;
}

void RowFiller::end_items(Slot& slot) {
  const std::string_view bytes(reinterpret_cast<const char*>(items_.data()),
                               items_.size() * sizeof items_[0]);
  if (!slot.has_last || slot.last_text != bytes) {
    ++budget_->items;
    slot.last_id = pools_->words.intern(items_);
    const auto kept = pools_->words[slot.last_id];
    slot.last_text = {reinterpret_cast<const char*>(kept.data()), kept.size_bytes()};
    slot.has_last = true;
  }
  put(slot, slot.last_id);
}

void RowFiller::begin_map() {
  std::swap(entries_, last_entries_);
  entries_.clear();
  has_same_keys_ = keys_ascend_;
  keys_ascend_ = true;
}

ctprof_text RowFiller::intern_key(std::string_view key) {
  ++budget_->items;
  const std::string_view text = pools_->texts[texts_->intern(key)];
  return {text.data(), text.size()};
}

bool RowFiller::add_key(std::string_view key) {
  if (key.size() > limits::kKeyBytes)
    return fail("has a key of more than " + std::to_string(limits::kKeyBytes) + " bytes");
  if (entries_.size() == limits::kItems)
    return fail("has more than " + std::to_string(limits::kItems) + " keys");
  const std::size_t place = entries_.size();
  const bool is_known = place < last_entries_.size() && text_of(last_entries_[place].key) == key;
  has_same_keys_ = has_same_keys_ && is_known;
  if (!has_same_keys_ && place > 0 && text_of(entries_.back().key) >= key) keys_ascend_ = false;
  entries_.push_back({is_known ? last_entries_[place].key : intern_key(key), 0});
  return true;
}

void RowFiller::end_map(Slot& slot) {
  const bool is_new = !entries_.empty() || !slot.has_last;
  if (is_new) ++budget_->items;
  const Id id = !is_new        ? slot.last_id
                : keys_ascend_ ? pools_->maps.append_pooled(entries_)
                               : pools_->maps.append(entries_, pools_->texts);
  if (entries_.empty()) {
    slot.last_id = id;  // all empty maps share one id
    slot.has_last = true;
  }
  put(slot, id);
}

}  // namespace ctprof
