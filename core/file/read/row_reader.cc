#include "core/file/read/row_reader.hpp"

#include <cstring>
#include <limits>

#include "core/file/layout/limits.hpp"

namespace ctprof {
namespace {

// More digits than these may exceed 64 bits.
constexpr std::ptrdiff_t kMaxDigits = std::numeric_limits<std::uint64_t>::digits10;
// Largest number of consecutive predicted keys that a row may lack.
constexpr int kMaxMissingKeys = 16;
constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();

// Texts, keys and counts within one slice cannot exceed their limits, so no check is needed.
static_assert(limits::kSliceBytes <= limits::kKeyBytes &&
              limits::kSliceBytes <= limits::kTextBytes);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Eight bytes are tested at a time.
constexpr std::ptrdiff_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kLowBits = 0x0101010101010101, kHighBits = 0x80 * kLowBits;
constexpr std::uint64_t has_zero(std::uint64_t word) {
  return (word - kLowBits) & ~word & kHighBits;
}
// Returns whether a byte may be other than plain.
constexpr bool has_special_byte(std::uint64_t word) {
  return (word & kHighBits) != 0 || ((word - 0x20 * kLowBits) & kHighBits) != 0 ||
         has_zero(word ^ '"' * kLowBits) || has_zero(word ^ '\\' * kLowBits);
}

}  // namespace

// Reads a whole number. A point, an exponent or further digits after it make the caller fail,
// because it expects another character there.
const char* RowReader::read_digits(const char* at, std::uint64_t& value) const {
  const char* const start = at;
  const char* const stop = end_ - at > kMaxDigits ? at + kMaxDigits : end_;
  while (at != stop && is_digit(*at)) value = 10 * value + static_cast<std::uint64_t>(*at++ - '0');
  const bool is_number = at != start && (*start != '0' || at - start == 1);
  return is_number ? at : nullptr;
}

// Returns the end of a text without escapes; null if it has other characters.
const char* RowReader::end_of_plain_text(const char* at) const {
  for (std::uint64_t word = 0; end_ - at > kWord; at += kWord) {
    std::memcpy(&word, at, sizeof word);
    if (has_special_byte(word)) break;
  }
  while (at != end_ && is_plain(*at)) ++at;
  return is_char('"', at) ? at : nullptr;
}

// Returns the start of the leaf's value if its key is here; otherwise null.
const char* RowReader::match_key(const char* at, const KeyNode& node) const {
  const std::size_t size = node.spelling.size() + 1;
  if (static_cast<std::size_t>(end_ - at) < size || *at != '"' || !node.is_leaf() ||
      !node.matches_spelling(at + 1))
    return nullptr;
  return at + size;
}

const char* RowReader::read_number(const char* at, Slot& slot) {
  std::uint64_t value = 0;
  const char* const end = read_digits(at, value);
  if (!end || slot.kind == Slot::Kind::Skip) return end;
  const std::string_view spelling(at, static_cast<std::size_t>(end - at));
  const bool fits = value <= kMaxSigned
                        ? rows_->put_signed(slot, static_cast<std::int64_t>(value), spelling)
                        : rows_->put_unsigned(slot, value, spelling);
  return fits ? end : nullptr;
}

std::size_t RowReader::read(std::string_view text) {
  end_ = text.data() + text.size();
  const char* at = text.data();
  while (const char* next = read_row(at)) at = next;
  return static_cast<std::size_t>(at - text.data());
}

const char* RowReader::read_row(const char* at) {
  if (!is_char('{', at) || !rows_->begin_row()) return nullptr;
  at = read_members(at + 1);
  if (at && is_char(',', at) && rows_->end_row()) return at + 1;
  rows_->drop_row();
  return nullptr;
}

const char* RowReader::read_members(const char* at) {
  const KeyNode* node = tree_->predicted_child;
  for (;;) {
    const char* start = nullptr;
    for (int missing = 0; node && !(start = match_key(at, *node)); node = node->predicted_sibling)
      if (++missing > kMaxMissingKeys) return nullptr;
    if (!start) return nullptr;
    at = read_value(start, rows_->slot(node->leaf));
    if (!at || at == end_) return nullptr;
    if (*at == '}') return at + 1;
    if (*at++ != ',') return nullptr;
    node = node->predicted_sibling;
  }
}

const char* RowReader::read_value(const char* at, Slot& slot) {
  if (at == end_) return nullptr;
  switch (*at) {
    case '"': return read_text(at + 1, slot);
    case '[': return read_items(at + 1, slot);
    case '{': return read_map(at + 1, slot);
    case '-': return read_negative(at + 1, slot);
    default: return is_digit(*at) ? read_number(at, slot) : read_word(at, slot);
  }
}

const char* RowReader::read_negative(const char* at, Slot& slot) {
  std::uint64_t value = 0;
  const char* const end = read_digits(at, value);
  if (!end || value == 0 || value > kMaxSigned) return nullptr;
  const std::string_view spelling(at - 1, static_cast<std::size_t>(end - at + 1));
  return rows_->put_signed(slot, -static_cast<std::int64_t>(value), spelling) ? end : nullptr;
}

const char* RowReader::read_text(const char* at, Slot& slot) {
  const char* const end = end_of_plain_text(at);
  return end && rows_->put_text(slot, {at, static_cast<std::size_t>(end - at)}) ? end + 1 : nullptr;
}

const char* RowReader::read_word(const char* at, Slot& slot) {
  const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
  if (rest.starts_with("false")) return rows_->put_bool(slot, false) ? at + 5 : nullptr;
  if (rest.starts_with("true")) return rows_->put_bool(slot, true) ? at + 4 : nullptr;
  if (rest.starts_with("null")) return rows_->put_null(slot) ? at + 4 : nullptr;
  return nullptr;
}

// Skips a value if the row already has one under another spelling of the key.
const char* RowReader::read_items(const char* at, Slot& slot) {
  const bool is_list = slot.kind == Slot::Kind::Bits || slot.kind == Slot::Kind::Array;
  if (!is_list && slot.kind != Slot::Kind::Skip) return nullptr;
  const bool is_kept = is_list && !rows_->has_value_in_row(slot);
  if (is_kept) rows_->begin_items();
  for (bool more = !is_char(']', at); more;) {
    std::uint64_t value = 0;
    at = read_digits(at, value);
    if (!at || at == end_ || (is_kept && !rows_->add_item(slot, value, ""))) return nullptr;
    more = *at != ']';
    if (more && *at++ != ',') return nullptr;
  }
  if (is_kept) rows_->end_items(slot);
  return at + 1;
}

const char* RowReader::read_map(const char* at, Slot& slot) {
  if (slot.kind != Slot::Kind::Map && slot.kind != Slot::Kind::Skip) return nullptr;
  const bool is_kept = slot.kind == Slot::Kind::Map && !rows_->has_value_in_row(slot);
  const char* const start = at;
  if (!is_kept && starts_with(at, last_map_)) return at + last_map_.size();
  if (is_kept) rows_->begin_map();
  for (bool more = !is_char('}', at); more;) {
    at = read_entry(at, is_kept);
    if (!at || at == end_) return nullptr;
    more = *at != '}';
    if (more && *at++ != ',') return nullptr;
  }
  if (is_kept) rows_->end_map(slot);
  last_map_ = {start, static_cast<std::size_t>(at + 1 - start)};
  return at + 1;
}

const char* RowReader::read_entry(const char* at, bool is_kept) {
  const char* const end = is_char('"', at) ? end_of_plain_text(at + 1) : nullptr;
  if (!end || !is_char(':', end + 1)) return nullptr;
  if (is_kept && !rows_->add_key({at + 1, static_cast<std::size_t>(end - at - 1)})) return nullptr;
  std::uint64_t value = 0;
  at = read_digits(end + 2, value);
  if (at && is_kept) rows_->set_entry(value);
  return at;
}

}  // namespace ctprof
