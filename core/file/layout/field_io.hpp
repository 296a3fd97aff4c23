// Objects of named fields (fields.hpp) as JSON, and back.
//
// What is plainly nothing is left out: an empty text, an absent one, false, no takeovers. A field
// that the JSON lacks keeps what it had.

#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/limits.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {

// What has a list in fields.hpp.
template <class T>
concept HasFields = requires(T& object) {
  each_field(object, [](const char*, auto&) {});
};

class FieldWriter {
 public:
  explicit FieldWriter(JsonWriter& out) : out_(&out) {}

  // The object's members, without braces.
  template <HasFields T>
  void members(const T& object) {
    each_field(object, [this](const char* key, const auto& value) { this->field(key, value); });
  }
  // Only those whose key `wants` takes.
  template <HasFields T>
  void members(const T& object, auto wants) {
    each_field(object, [&](const char* key, const auto& value) {
      if (wants(std::string_view(key))) this->field(key, value);
    });
  }
  template <HasFields T>
  void object(const T& object) {
    out_->put('{');
    members(object);
    out_->close('}');
  }

 private:
  template <class T>
  void field(const char* key, const T& value) {
    if (is_nothing(value)) return;
    out_->key(key);
    write(value);
    out_->put(',');
  }

  static bool is_nothing(const std::string& text) { return text.empty(); }
  static bool is_nothing(bool flag) { return !flag; }
  static bool is_nothing(const std::vector<Takeover>& takeovers) { return takeovers.empty(); }
  static bool is_nothing(Gap gap) { return gap == Gap::None; }
  template <class T>
  static bool is_nothing(const std::optional<T>& value) {
    return !value;
  }
  template <class T>
  static bool is_nothing(const T&) {
    return false;
  }

  void write(const std::string& text) { out_->text(text); }
  void write(bool flag) { out_->boolean(flag); }
  void write(std::uint64_t number) { out_->number(number); }
  void write(std::uint32_t number) { out_->number(std::uint64_t{number}); }
  void write(double number) { out_->number(number); }
  void write(Gap gap) { out_->number(std::uint64_t{static_cast<ctprof_gap>(gap)}); }
  void write(Entity entity) { out_->text(name(entity)); }
  void write(Storage storage) { out_->text(name(storage)); }
  void write(const std::map<std::string, std::uint64_t>& numbers) {
    out_->put('{');
    for (const auto& [key, number] : numbers) {
      out_->key(key);
      out_->number(number);
      out_->put(',');
    }
    out_->close('}');
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <HasFields T>
  void write(const T& value) {
    object(value);
  }
  template <class T>
  void write(const std::vector<T>& items) {
    out_->put('[');
    for (const T& item : items) {
      write(item);
      out_->put(',');
    }
    out_->close(']');
  }

  JsonWriter* out_;
};

class FieldReader {
 public:
  // `where` names the object in complaints.
  explicit FieldReader(std::string where) : where_(std::move(where)) {}

  template <HasFields T>
  void object(const boost::json::value& json, T& object) {
    if (!json.is_object()) return complain("is not an object");
    std::size_t known = 0;
    each_field(object, [&](const char* key, auto& value) {
      const auto* found = json.get_object().if_contains(key);
      if (!found) return;
      ++known;
      at(key, *found, value);
    });
    met_unknown_ = met_unknown_ || known < json.get_object().size();
  }
  // Whether an object that it read has members that are no fields.
  bool met_unknown() const { return met_unknown_; }
  // The first thing that was wrong, "ctprof.end.wall_unix_ns is not a number" for example; empty if
  // nothing was.
  const std::string& complaint() const { return complaint_; }

 private:
  template <class T>
  void at(const std::string& key, const boost::json::value& json, T& value) {
    const std::size_t length = where_.size();
    where_ += '.' + key;
    read(json, value);
    where_.resize(length);
  }
  static std::string too_many() {
    return "has more than " + std::to_string(limits::kColumns) + " items";
  }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = where_ + ' ' + what;
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
    object(json, value);
  }
  template <class T>
  void read(const boost::json::value& json, std::vector<T>& items) {
    if (!json.is_array()) return complain("is not an array");
    if (json.get_array().size() > limits::kColumns) return complain(too_many());
    items.clear();
    for (const boost::json::value& item : json.get_array())
      at(std::to_string(items.size()), item, items.emplace_back());
  }

  std::string where_;
  std::string complaint_;
  bool met_unknown_ = false;
};

}  // namespace ctprof
