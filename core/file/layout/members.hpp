// The members of a JSON object as text, by key, for objects that are kept partly unparsed.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/fields.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Returns the members of an object, without blanks. `depth` is the nesting depth of the members,
// including this object. The error contains the reason and the byte.
Result<KeptMembers> parse_members(std::string_view object, std::size_t depth);

// Returns the items of an array as text; empty if it is not an array. REQUIRES: valid JSON.
std::vector<std::string_view> split_array(std::string_view array);

// Returns the values of two members of an object as text; each is empty if it is missing, and both
// if the text is not an object. REQUIRES: valid JSON.
std::array<std::string_view, 2> find_members(std::string_view object, std::string_view first,
                                             std::string_view second);

// Returns the value of a member; empty or 0 if it is missing or has another type.
std::string text_member(const KeptMembers& members, std::string_view key);
std::uint64_t number_member(const KeptMembers& members, std::string_view key);

// Writes the members, sorted by key, without braces; or returns them as an object.
void write_members(const KeptMembers& members, JsonWriter& out);
RawJson to_object(const KeptMembers& members);

// Returns the members that are not fields of T.
template <HasFields T>
KeptMembers unknown_members(KeptMembers members) {
  T object;
  each_field(object, [&](const char* key, auto&) {
    if (const auto found = members.find(key); found != members.end()) members.erase(found);
  });
  return members;
}

}  // namespace ctprof
