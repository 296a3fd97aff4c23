// Pseudonyms: names that stand for names.
//
//   nginx-worker-12          kmqvzjwhts-pyqnlgxgww-58
//   /user.slice/app@3.service    /gqlyvmrpsh.slice/wtvmzkjnpq@3.service
//
// The same name gets the same one as long as the key is the same, and two names never get one. What
// is left of a name is its shape, so that families of names (compare/grouping/key_families.hpp) are
// those that they were: words become words, numbers of two digits and more others of that length,
// hexadecimal ids and UUIDs others. Separators, single digits and systemd's kinds of units stay.
//
// Without the key nobody finds out which name it was, but by what else is known of its figures.
//
// Threads: one at a time.

#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/keyed_hash.hpp"
#include "core/base/seeded_hash.hpp"

namespace ctprof {

class Pseudonyms {
 public:
  explicit Pseudonyms(const KeyedHash::Key& key) : hash_(key) {}

  // Of a name, or a path.
  std::string of(std::string_view name);
  // Of a text whose shape would tell what it is, such as a function's name: one word.
  std::string of_whole(std::string_view text) { return text.empty() ? "" : word(text); }
  // Of bytes without a shape: as many others.
  std::string of_bytes(std::string_view bytes) const;
  // Of a UUID, or of what is none.
  std::string of_uuid(std::string_view uuid) const;

 private:
  void add_token(std::string& out, std::string_view token);
  void add_runs(std::string& out, std::string_view token);
  const std::string& word(std::string_view text);
  std::string number(std::string_view digits) const;
  std::string hex(std::string_view text) const;

  KeyedHash hash_;
  // Both ways, so that no two words get one.
  std::unordered_map<std::string, std::string, SeededHash> words_, taken_;
};

}  // namespace ctprof
