// A column that is missing in the kReads of the source.
// must say: this source does not read that column: add it to its kReads
#include "ctprof/plugin.hpp"

namespace sdk = ctprof::sdk;

struct Source : sdk::ThreadSource {
#ifdef CONTROL
  static constexpr auto kReads = sdk::reads(sdk::optional<sdk::kStatText>);
#endif
  static auto text(const sdk::Batch& batch) {
    return batch.input<Source, sdk::kStatText>().at(0).gap;
  }
};
