// Throws in one function, which the build selects. THROWS_IN is COLLECT (after its first row),
// CONSTRUCTOR (a value that is not a std::exception) or PROBE. The build also defines NAME.

#include <stdexcept>

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;

enum Place { COLLECT, CONSTRUCTOR, PROBE };
constexpr Place kPlace = THROWS_IN;

constexpr sdk::Metric<sdk::GaugeCount, sdk::MaxGaugeCount> kValue{
    {.name = NAME "_value", .description = "The thread's id."}};

class ThrowingSource : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kValue);

  static void probe(const sdk::Host&, const sdk::Probe&) {
    if (kPlace == PROBE) throw std::runtime_error("thrown while probing");
  }

  explicit ThrowingSource(const sdk::Host&) {
    if (kPlace == CONSTRUCTOR) throw 7;
  }

  void collect(const sdk::Batch& batch) {
    auto value = batch.column(kValue);
    for (sdk::Thread thread : batch.threads()) {
      if (kPlace == COLLECT && thread.row == 1) throw std::runtime_error("thrown half way");
      value.put(thread, thread.tid);
    }
  }
};

}  // namespace

CTPROF_PLUGIN(NAME, "1.0", "For tests.", ThrowingSource)
