// Reads an object of listed fields (fields.hpp) from JSON.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_scanner.hpp"
#include "core/file/layout/fields.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {

// Reads a whole number, which may be spelled like 1e3. Returns nothing if the next value, which is
// then skipped, is not one from 0 to 2^64-1.
std::optional<std::uint64_t> read_whole_number(Scanner& in);

class FieldReader {
 public:
  // Selects whether the words of entities are read, or skipped because they are known.
  enum class EntityWords { Read, Skip };

  // `where` names the object in error messages. REQUIRES: `in` outlives it.
  FieldReader(Scanner& in, std::string where, EntityWords entity_words = EntityWords::Read)
      : in_(&in), path_(std::move(where)), entity_words_(entity_words) {}

  // Reads the next value. A value of another type is an error, and is skipped.
  template <HasFields T>
  void read_object(T& object) {
    if (!expect('{', "is not an object")) return;
    in_->enter('{');
    bool has_next = in_->next('}');
    // Objects that ctprof wrote have their members in the order of the list.
    each_field(object, [&](const char* key, auto& value) {
      if (!has_next || !in_->consume_key(key)) return;
      read_at_key(key, value);
      has_next = in_->next('}');
    });
    for (; has_next; has_next = in_->next('}')) read_member(object);
  }
  template <class T>
  void read_value(T& value) {
    read(value);
  }

  // Returns whether an object had members that are not fields.
  bool has_unknown_members() const { return has_unknown_members_; }
  // Returns whether the word of an entity or a storage is unknown to this version.
  bool has_unknown_kind() const { return has_unknown_kind_; }
  // Returns the first error, for example "ctprof.end.wall_unix_ns is not a number"; empty if there
  // was none.
  std::string error_text() const;

 private:
  template <HasFields T>
  void read_member(T& object) {
    const std::string member(in_->key());
    bool is_known = false;
    each_field(object, [&](const char* key, auto& value) {
      if (is_known || member != key) return;
      is_known = true;
      read_at_key(key, value);
    });
    if (is_known || in_->has_failed()) return;
    has_unknown_members_ = true;
    in_->discard(limits::kDepth);
  }
  template <class T>
  void read_at_key(std::string_view key, T& value) {
    const std::size_t length = path_.size();
    path_ += '.';
    path_ += key;
    read(value);
    path_.resize(length);
  }
  static std::string too_many() {
    return "has more than " + std::to_string(limits::kColumns) + " items";
  }
  void set_error(const std::string& what) {
    if (error_text_.empty()) error_text_ = path_ + ' ' + what;
  }
  // Returns whether the next value begins with this character; otherwise reports it and skips it.
  bool expect(char first, const char* error);

  void read(std::string& text);
  void read(bool& flag);
  void read(std::uint64_t& number);
  void read(std::uint32_t& number);
  void read(double& number);
  void read(Gap& gap);
  void read(Entity& entity);
  void read(Storage& storage);
  void read(std::map<std::string, std::uint64_t>& numbers);
  template <class T>
  void read_word(T& word);
  template <class T>
  void read(std::optional<T>& value) {
    read(value.emplace());
  }
  template <HasFields T>
  void read(T& value) {
    read_object(value);
  }
  template <class T>
  void read(std::vector<T>& items) {
    if (!expect('[', "is not an array")) return;
    items.clear();
    for (in_->enter('['); in_->next(']');) {
      if (items.size() == limits::kColumns) {
        set_error(too_many());
        in_->discard(limits::kDepth);
      } else {
        read_at_key(std::to_string(items.size()), items.emplace_back());
      }
    }
  }

  Scanner* in_;
  std::string path_;
  EntityWords entity_words_;
  std::string error_text_;
  bool has_unknown_members_ = false;
  bool has_unknown_kind_ = false;
};

}  // namespace ctprof
