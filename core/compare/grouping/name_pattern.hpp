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

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// The key of each name. The names' order does not matter, nor how often one is there.
std::vector<std::string> name_patterns(std::span<const std::string> names);

}  // namespace ctprof
