// Replaces names by pseudonyms.
//
//   nginx-worker-12              kmqvzjwhts-pyqnlgxgww-58
//   /user.slice/app@3.service    /gqlyvmrpsh.slice/wtvmzkjnpq@3.service
//
// With one key, a name always has the same pseudonym, and different words have different
// pseudonyms. A pseudonym keeps the shape of the name, so that families of names
// (compare/grouping/key_families.hpp) do not change. Words become words; numbers of two or more
// digits become numbers of the same length; hexadecimal ids and UUIDs become others. Separators,
// single digits and unit types of systemd stay.
//
// Without the key, a name can be guessed only from other knowledge about its metrics.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/keyed_hash.hpp"
#include "core/base/seeded_hash.hpp"

namespace ctprof {

class Pseudonyms {
 public:
  explicit Pseudonyms(const KeyedHash::Key& key) : keyed_hash_(key) {}

  // Returns the pseudonym of a name or path.
  std::string pseudonym_of(std::string_view name);
  // Returns one word for a text whose shape would reveal it, such as the name of a function.
  std::string word_of(std::string_view text) { return text.empty() ? "" : add_word(text); }
  // Returns the same number of other bytes, for data without a shape.
  std::string bytes_of(std::string_view bytes) const;
  // Returns the pseudonym of an offset in a file or of a distance between addresses: different ones
  // for different offsets, without their order and distances. An offset below 2^32 stays below.
  std::uint64_t offset_of(std::uint64_t offset) const;
  // Returns the pseudonym of a UUID; replaces hexadecimal digits in any other text.
  std::string uuid_of(std::string_view uuid) const;

 private:
  void add_token(std::string& out, std::string_view token);
  void add_runs(std::string& out, std::string_view token);
  const std::string& add_word(std::string_view text);
  std::string permute_number(std::string_view digits) const;
  std::string permute_hex(std::string_view text) const;

  KeyedHash keyed_hash_;
  // Pseudonyms by word, and words by pseudonym, so that no pseudonym is used twice.
  std::unordered_map<std::string, std::string, SeededHash> words_, used_words_;
};

}  // namespace ctprof
