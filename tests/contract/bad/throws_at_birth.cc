// Throws something that is no exception when it is made.

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;

constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kValue{
    {.name = "throws_at_birth_value", .description = "Nothing."}};

class Throws : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kValue);
  explicit Throws(const sdk::Host&) { throw 7; }
  void collect(const sdk::Batch&) {}
};

}  // namespace

CTPROF_PLUGIN("throws_at_birth", "1.0", "For tests.", Throws)
