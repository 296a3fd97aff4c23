// Reads an object of listed fields (fields.hpp) from JSON.

#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file/layout/fields.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {

class FieldReader {
 public:
  // `where` names the object in error messages.
  explicit FieldReader(std::string where) : path_(std::move(where)) {}

  template <HasFields T>
  void read_object(const boost::json::value& json, T& object) {
    if (!json.is_object()) return set_error("is not an object");
    std::size_t known = 0;
    each_field(object, [&](const char* key, auto& value) {
      const auto* found = json.get_object().if_contains(key);
      if (!found) return;
      ++known;
      read_at_key(key, *found, value);
    });
    has_unknown_members_ = has_unknown_members_ || known < json.get_object().size();
  }
  // Returns whether an object had members that are not fields.
  bool has_unknown_members() const { return has_unknown_members_; }
  // Returns the first error, for example "ctprof.end.wall_unix_ns is not a number"; empty if there
  // was none.
  const std::string& error_text() const { return error_text_; }

 private:
  template <class T>
  void read_at_key(const std::string& key, const boost::json::value& json, T& value) {
    const std::size_t length = path_.size();
    path_ += '.' + key;
    read(json, value);
    path_.resize(length);
  }
  static std::string too_many() {
    return "has more than " + std::to_string(limits::kColumns) + " items";
  }
  void set_error(const std::string& what) {
    if (error_text_.empty()) error_text_ = path_ + ' ' + what;
  }

  void read(const boost::json::value& json, std::string& text);
  void read(const boost::json::value& json, bool& flag);
  void read(const boost::json::value& json, std::uint64_t& number);
  void read(const boost::json::value& json, std::uint32_t& number);
  void read(const boost::json::value& json, double& number);
  void read(const boost::json::value& json, Gap& gap);
  void read(const boost::json::value& json, Entity& entity);
  void read(const boost::json::value& json, Storage& storage);
  void read(const boost::json::value& json, std::map<std::string, std::uint64_t>& numbers);
  template <class T>
  void read(const boost::json::value& json, std::optional<T>& value) {
    read(json, value.emplace());
  }
  template <HasFields T>
  void read(const boost::json::value& json, T& value) {
    read_object(json, value);
  }
  template <class T>
  void read(const boost::json::value& json, std::vector<T>& items) {
    if (!json.is_array()) return set_error("is not an array");
    if (json.get_array().size() > limits::kColumns) return set_error(too_many());
    items.clear();
    for (const boost::json::value& item : json.get_array())
      read_at_key(std::to_string(items.size()), item, items.emplace_back());
  }

  std::string path_;
  std::string error_text_;
  bool has_unknown_members_ = false;
};

}  // namespace ctprof
