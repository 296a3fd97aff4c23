// An object's members by key, each as it stands: for objects of which a part is kept and not
// understood.
//
// What is here:   taking an object apart, and what is in it beyond the fields that are known.
// What is not:    the fields (fields.hpp).

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/layout/fields.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// The members of an object, without blanks. `depth` is how many objects and arrays they stand in,
// this one included. The error says what is wrong, and at which byte.
Result<KeptMembers> parse_members(std::string_view object, std::size_t depth);

// The items of an array, as they stand. REQUIRES: sound JSON. Empty where it is no array.
std::vector<std::string_view> items_of(std::string_view array);

// What a member is; empty or 0 where it is something else, or not there.
std::string text_in(const KeptMembers& members, std::string_view key);
std::uint64_t number_in(const KeptMembers& members, std::string_view key);

// The members again, their keys in order: alone, or as an object.
void write_members(const KeptMembers& members, JsonWriter& out);
RawJson object_of(const KeptMembers& members);

// Those that are no field of T.
template <HasFields T>
KeptMembers unknown_to(KeptMembers members) {
  T object;
  each_field(object, [&](const char* key, auto&) {
    if (const auto found = members.find(key); found != members.end()) members.erase(found);
  });
  return members;
}

}  // namespace ctprof
