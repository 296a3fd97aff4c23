#include "core/file/layout/members.hpp"

#include <utility>

#include "core/base/json_scanner.hpp"

namespace ctprof {

Result<KeptMembers> parse_members(std::string_view object, std::size_t depth) {
  const std::size_t most = depth == 1 ? limits::kItems : limits::kMembers;
  KeptMembers members;
  Scanner in(object);
  for (in.enter('{'); in.next('}');) {
    std::string key(in.key());
    if (members.size() == most) in.fail("too many keys");
    if (key.size() > limits::kKeyBytes) in.fail("a key is too long");
    const std::string_view value = in.skip(limits::kDepth - depth);
    if (in.has_failed()) break;
    if (!members.emplace(std::move(key), remove_blanks(value)).second) in.fail("a key is repeated");
  }
  if (!in.has_failed() && !in.at_end()) in.fail("more than one value");
  if (in.has_failed()) return Error{in.error_text()};
  return members;
}

std::vector<std::string_view> split_array(std::string_view array) {
  std::vector<std::string_view> items;
  Scanner in(array);
  for (in.enter('['); in.next(']');) items.push_back(in.skip());
  if (in.has_failed()) items.clear();
  return items;
}

std::array<std::string_view, 2> find_members(std::string_view object, std::string_view first,
                                             std::string_view second) {
  std::array<std::string_view, 2> found;
  Scanner in(object);
  if (in.peek() != '{') return found;
  for (in.enter('{'); in.next('}');) {
    const std::string_view key = in.key();
    const int place = key == first ? 0 : key == second ? 1 : -1;
    const std::string_view value = in.skip();
    if (place >= 0) found[static_cast<std::size_t>(place)] = value;
  }
  return found;
}

std::string text_member(const KeptMembers& members, std::string_view key) {
  const auto found = members.find(key);
  if (found == members.end() || !found->second.starts_with('"')) return "";
  return std::string(Scanner(found->second).text());
}

std::uint64_t number_member(const KeptMembers& members, std::string_view key) {
  const auto found = members.find(key);
  return found == members.end() ? 0 : Scanner(found->second).number();
}

void write_members(const KeptMembers& members, JsonWriter& out) {
  for (const auto& [key, value] : members) {
    out.key(key);
    out.raw(value);
    out.put(',');
  }
}

RawJson to_object(const KeptMembers& members) {
  JsonWriter out;
  out.put('{');
  write_members(members, out);
  out.close('}');
  return RawJson(out.view());
}

}  // namespace ctprof
