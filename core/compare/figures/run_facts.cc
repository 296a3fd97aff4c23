#include "core/compare/figures/run_facts.hpp"

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

}  // namespace ctprof
