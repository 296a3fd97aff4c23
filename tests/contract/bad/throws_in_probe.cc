// Throws when it is asked what it can do.

#include <stdexcept>

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;

constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kValue{
    {.name = "throws_in_probe_value", .description = "Nothing."}};

class Throws : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kValue);
  static void probe(const sdk::Host&, const sdk::Probe&) {
    throw std::runtime_error("thrown while probing");
  }
  explicit Throws(const sdk::Host&) {}
  void collect(const sdk::Batch&) {}
};

}  // namespace

CTPROF_PLUGIN("throws_in_probe", "1.0", "For tests.", Throws)
