#include "core/compare/figures/run_facts.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>

namespace ctprof {
namespace {

// The file's key of the host's context.
constexpr const char* kHostKey = "host";

}  // namespace

RunFacts facts_of(const Snapshot& snapshot) {
  RunFacts facts;
  facts.meta = snapshot.meta;
  facts.text_bytes = snapshot.text_bytes;
  if (const auto host = snapshot.objects.find(kHostKey); host != snapshot.objects.end())
    facts.host = host->second;
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    facts.rows[entity] = snapshot.tables[entity].rows;
  return facts;
}

namespace {

namespace json = boost::json;

// An object with a longer dotted name is compared as a whole.
constexpr std::size_t kMostPath = 1024;

using Members = std::map<std::string, std::string>;

// A file may have a size both as "..._kb" and "..._kib", for readers of either. It is told once.
std::string one_spelling(std::string key) {
  if (key.ends_with("_kb")) key.replace(key.size() - 1, 1, "ib");
  return key;
}

void flatten(const json::object& object, const std::string& prefix, Members& members) {
  for (const auto& member : object) {
    const std::string key = prefix + std::string(member.key());
    if (member.value().is_object() && key.size() < kMostPath)
      flatten(member.value().get_object(), key + ".", members);
    else
      members.emplace(one_spelling(key), json::serialize(member.value()));
  }
}

std::optional<Members> members_of(const RunFacts& run) {
  if (!run.host) return {};
  boost::system::error_code problem;
  const json::value parsed = json::parse(*run.host, problem);
  if (problem || !parsed.is_object()) return {};
  Members members;
  flatten(parsed.get_object(), "", members);
  return members;
}

std::optional<std::string> look_up(const Members& members, const std::string& key) {
  const auto it = members.find(key);
  return it == members.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

std::optional<std::vector<HostDifference>> host_differences(const RunFacts& baseline,
                                                            const RunFacts& candidate) {
  const auto a = members_of(baseline), b = members_of(candidate);
  if (!a || !b) return {};
  Members all = *a;
  all.insert(b->begin(), b->end());
  std::vector<HostDifference> differences;
  for (const auto& [key, value] : all) {
    HostDifference difference{key, look_up(*a, key), look_up(*b, key)};
    if (difference.baseline != difference.candidate) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace ctprof
