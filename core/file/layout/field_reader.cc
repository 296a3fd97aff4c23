#include "core/file/layout/field_reader.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace ctprof {
namespace {

bool is_number_next(Scanner& in) {
  const char c = in.peek();
  return c == '-' || (c >= '0' && c <= '9');
}

// Returns the number; nothing if it is not finite.
std::optional<double> to_real(std::string_view number) {
  double value = 0;
  const auto code = std::from_chars(number.data(), number.data() + number.size(), value).ec;
  return code == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> read_whole_number(Scanner& in) {
  std::uint64_t value = 0;
  if (in.consume_short_number(value)) return value;
  if (!is_number_next(in)) return in.discard(limits::kDepth), std::nullopt;
  const std::string_view text = in.number_text();
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && stop == text.data() + text.size()) return value;
  const auto real = to_real(text);
  constexpr double kEnd = 0x1p64;
  if (!real || *real < 0 || *real >= kEnd || std::floor(*real) != *real) return std::nullopt;
  return static_cast<std::uint64_t>(*real);
}

std::string FieldReader::error_text() const {
  if (!in_->has_failed() || !error_text_.empty()) return error_text_;
  return path_ + " is wrong: " + in_->error_text();
}

bool FieldReader::expect(char first, const char* error) {
  if (in_->peek() == first) return true;
  in_->discard(limits::kDepth);
  set_error(error);
  return false;
}

void FieldReader::read(std::string& text) {
  if (expect('"', "is not a text")) text = in_->text();
}

void FieldReader::read(bool& flag) {
  const char c = in_->peek();
  if (c == 't' || c == 'f') return void(flag = in_->boolean());
  in_->discard(limits::kDepth);
  set_error("is neither true nor false");
}

void FieldReader::read(std::uint64_t& number) {
  const auto found = read_whole_number(*in_);
  if (!found) return set_error("is not a whole number from 0 to 2^64-1");
  number = *found;
}

void FieldReader::read(std::uint32_t& number) {
  const auto found = read_whole_number(*in_);
  if (!found || *found > std::numeric_limits<std::uint32_t>::max())
    return set_error("is not a whole number from 0 to 2^32-1");
  number = static_cast<std::uint32_t>(*found);
}

void FieldReader::read(double& number) {
  if (!is_number_next(*in_)) return in_->discard(limits::kDepth), set_error("is not a number");
  const auto found = to_real(in_->number_text());
  if (!found) return set_error("is not a number");
  number = *found;
}

void FieldReader::read(Gap& gap) {
  std::uint64_t number = 0;
  read(number);
  gap = number < kGapNames.size() ? static_cast<Gap>(number) : Gap::Malformed;
}

template <class T>
void FieldReader::read_word(T& word) {
  if (!expect('"', "is not a text")) return;
  const std::string_view text = in_->text();
  has_unknown_kind_ = has_unknown_kind_ || (!in_->has_failed() && !parse(text, word));
}

void FieldReader::read(Entity& entity) {
  if (entity_words_ == EntityWords::Skip) return in_->discard(limits::kDepth);
  read_word(entity);
}

void FieldReader::read(Storage& storage) { read_word(storage); }

void FieldReader::read(std::map<std::string, std::uint64_t>& numbers) {
  if (!expect('{', "is not an object")) return;
  numbers.clear();
  for (in_->enter('{'); in_->next('}');) {
    const std::string key(in_->key());
    if (numbers.size() == limits::kColumns && !numbers.contains(key)) {
      set_error(too_many());
      in_->discard(limits::kDepth);
    } else {
      read_at_key(key, numbers[key]);
    }
  }
}

}  // namespace ctprof
