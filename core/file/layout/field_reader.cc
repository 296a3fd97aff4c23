#include "core/file/layout/field_reader.hpp"

#include <cmath>

namespace ctprof {

void FieldReader::read(const boost::json::value& json, std::string& text) {
  if (!json.is_string()) return set_error("is not a text");
  text = std::string_view(json.get_string());
}

void FieldReader::read(const boost::json::value& json, bool& flag) {
  if (!json.is_bool()) return set_error("is neither true nor false");
  flag = json.get_bool();
}

void FieldReader::read(const boost::json::value& json, std::uint64_t& number) {
  boost::system::error_code failed;
  number = json.to_number<std::uint64_t>(failed);
  if (failed) set_error("is not a whole number from 0 to 2^64-1");
}

void FieldReader::read(const boost::json::value& json, std::uint32_t& number) {
  boost::system::error_code failed;
  number = json.to_number<std::uint32_t>(failed);
  if (failed) set_error("is not a whole number from 0 to 2^32-1");
}

void FieldReader::read(const boost::json::value& json, double& number) {
  boost::system::error_code failed;
  number = json.to_number<double>(failed);
  if (failed || !std::isfinite(number)) set_error("is not a number");
}

void FieldReader::read(const boost::json::value& json, Gap& gap) {
  std::uint64_t number = 0;
  read(json, number);
  gap = number < kGapNames.size() ? static_cast<Gap>(number) : Gap::Malformed;
}

void FieldReader::read(const boost::json::value& json, Entity& entity) {
  std::string word;
  read(json, word);
  if (!parse(word, entity))
    set_error("is '" + word + "', a kind of row that this version does not know");
}

void FieldReader::read(const boost::json::value& json, Storage& storage) {
  std::string word;
  read(json, word);
  if (!parse(word, storage))
    set_error("is '" + word + "', a kind of storage that this version does not know");
}

void FieldReader::read(const boost::json::value& json,
                       std::map<std::string, std::uint64_t>& numbers) {
  if (!json.is_object()) return set_error("is not an object");
  if (json.get_object().size() > limits::kColumns) return set_error(too_many());
  for (const auto& [key, value] : json.get_object()) read_at_key(key, value, numbers[key]);
}

}  // namespace ctprof
