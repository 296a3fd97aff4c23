// Name patterns: one key for names that differ only in what is counted up or drawn at random.
//
// A name is cut into tokens at . - _ / : @ + [ ] and white space, which stay where they are. The
// first line that fits a token says what becomes of it:
//
//   1a2b3c4d-...-..., a UUID, with dashes or underscores, perhaps behind "pod"   {U}
//   12                                                                           {N}
//   1f, c0ffee: lower-case hexadecimal with a digit, two characters or more      {H}
//   worker7                                                                      worker{N}
//   7worker                                                                      {N}worker
//
// {U} and {H} are taken back where all names of one pattern have the same there: cc1 and d3d stay
// themselves until they vary. A pattern that one name alone has is that name.
//
// What is here:   from names to keys.
// What is not:    which names are looked at together (grouping.hpp), cgroup paths (cgroup_key.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"

namespace ctprof {

// Names of one pattern are a family. To which a name belongs is settled by the name alone, so
// names can come one by one, run after run; what the family is called depends on all of them.
class NameFamilies {
 public:
  // The family of the name, by its number.
  std::uint32_t add(std::string_view name);
  // What each family is called, by number.
  std::vector<std::string> keys() const;

  // A piece of a name that gives its text up only where it varies, and where its mark stands in the
  // pattern. Names have more bytes than pieces that are worth copying.
  struct Drawn {
    std::uint32_t from = 0, size = 0;
    std::uint32_t at = 0;

    std::string_view in(std::string_view name) const { return name.substr(from, size); }
  };

 private:
  struct Family {
    const std::string* pattern;
    std::string first_name;
    std::vector<Drawn> common;
    bool one_name;
  };
  static std::string key(const Family& family);

  std::unordered_map<std::string, std::uint32_t, SeededHash> known_;  // by pattern
  std::vector<Family> families_;
};

// The key of each name. The names' order does not matter, nor how often one is there.
std::vector<std::string> name_patterns(std::span<const std::string> names);

}  // namespace ctprof
