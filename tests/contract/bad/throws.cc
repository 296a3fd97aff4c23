// Throws from collect, after its first row.

#include <stdexcept>

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;

constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kValue{
    {.name = "throws_value", .description = "The thread's id."}};

class Throws : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kValue);
  explicit Throws(const sdk::Host&) {}

  void collect(const sdk::Batch& batch) {
    auto value = batch.column(kValue);
    for (sdk::Thread thread : batch.threads()) {
      if (thread.row == 1) throw std::runtime_error("thrown half way");
      value.put(thread, thread.tid);
    }
  }
};

}  // namespace

CTPROF_PLUGIN("throws", "1.0", "For tests.", Throws)
