// A plugin of a third party with an entity, maps with one and two labels, and a histogram. It
// violates nothing, unless the option `fault` requests a malformed key or too many keys.

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;

constexpr auto kPort = sdk::entity("labels_port", "A port for tests.");
constexpr sdk::EntityMetric<sdk::IdText, sdk::Key> kDevice{
    {.name = "labels_port.device", .description = "Name of the port."}};
constexpr sdk::EntityMetric<sdk::BytesMap, sdk::MapSum> kMoved{
    {.name = "labels_moved_bytes",
     .description = "Bytes by device and direction.",
     .labels = sdk::labels<"device", "direction">}};
constexpr sdk::EntityMetric<sdk::HistogramNs, sdk::HistogramMerge> kWaits{
    {.name = "labels_wait_ns", .description = "Single waits."}};
constexpr sdk::EntityMetric<sdk::GaugeCount, sdk::SumGaugeCount> kLinks{
    {.name = "labels_links", .description = "Links of the port."}};
constexpr sdk::Metric<sdk::CountMap, sdk::MapSum, sdk::Entity::Thread> kCalls{
    {.name = "labels_calls",
     .description = "Calls by name and result.",
     .labels = sdk::labels<"call", "result">}};
constexpr sdk::Metric<sdk::CountMap, sdk::MapSum, sdk::Entity::Host> kEvents{
    {.name = "labels_events", .description = "Events by kind.", .labels = sdk::labels<"kind">}};

constexpr std::array kOptions{
    sdk::option("scale", "1", "All counters are multiplied by this number."),
    sdk::option("step", "0", "The scale of ports grows by this number in each capture."),
    sdk::option("fault", "none", "none, malformed, or many.")};

std::uint64_t number_of(const sdk::Host& host, const ctprof_option& option) {
  return std::stoull(std::string(host.option(option)));
}
std::uint64_t scale_of(const sdk::Host& host) { return number_of(host, kOptions[0]); }

// The number of captures in this process.
std::atomic<std::uint64_t> g_captures = 0;

class Ports : public sdk::EntityListSource<kPort> {
 public:
  static constexpr auto kOffers = sdk::offers(kDevice, kMoved, kWaits, kLinks);
  explicit Ports(const sdk::Host& host)
      : scale_(scale_of(host) + g_captures++ * number_of(host, kOptions[1])) {}

  void list(const sdk::Listing& listing) {
    const auto batch = listing.room();
    for (std::uint32_t row = 0; batch && row < kRows; ++row) fill(*batch, row);
    if (batch) listing.commit(kRows);
  }

 private:
  static constexpr std::uint32_t kRows = 2;

  void fill(const sdk::Batch& batch, std::uint32_t row) {
    batch.column(kDevice).put(row, row == 0 ? "left" : "right");
    moved_.clear();
    moved_.add("sda", "read", scale_ * (100 + row));
    moved_.add("sda", "write", scale_ * (20 + row));
    if (row == 1) moved_.add("a,b", "100%", scale_ * 3);
    batch.column(kMoved).put(row, moved_.entries());
    std::vector<std::uint64_t> buckets(CTPROF_HISTOGRAM_BUCKETS);
    buckets[ctprof_histogram_bucket(1000)] = scale_ * (4 + row);
    batch.column(kWaits).put(row, sdk::Words(buckets));
    batch.column(kLinks).put(row, std::uint64_t{7 + row});
  }

  std::uint64_t scale_;
  sdk::LabelledEntries moved_;
};

class Calls : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kCalls);
  explicit Calls(const sdk::Host& host)
      : scale_(scale_of(host)), fault_(host.option(kOptions[2])) {}

  void collect(const sdk::Batch& batch) {
    auto calls = batch.column(kCalls);
    if (!calls) return;
    for (const sdk::Thread& thread : batch.threads()) put(calls, thread);
  }

 private:
  template <class Column>
  void put(Column& calls, const sdk::Thread& thread) {
    const ctprof_entry malformed[] = {{{"read", 4}, 1}};
    if (fault_ == "malformed" && thread.tid % 2 == 0)
      return calls.put(thread, sdk::Entries(malformed));
    entries_.clear();
    entries_.add("read", "ok", scale_ * thread.tid);
    entries_.add("read", "error", scale_);
    for (std::uint32_t i = 0; fault_ == "many" && i < CTPROF_MAX_MAP_KEYS; ++i)
      entries_.add("z", std::to_string(i), 1);
    calls.put(thread, entries_.entries());
  }

  std::uint64_t scale_;
  std::string fault_;
  sdk::LabelledEntries entries_;
};

class Events : public sdk::HostSource {
 public:
  static constexpr auto kOffers = sdk::offers(kEvents);
  explicit Events(const sdk::Host& host) : scale_(scale_of(host)) {}

  void collect(const sdk::Batch& batch) {
    const ctprof_entry events[] = {{{"a,b%", 4}, scale_ * 5}, {{"c", 1}, scale_}};
    batch.column(kEvents).put(0, sdk::Entries(events));
  }

 private:
  std::uint64_t scale_;
};

constexpr sdk::Extra kExtra{.options = sdk::array_of(kOptions)};

}  // namespace

CTPROF_PLUGIN_WITH("labels", "1.0", "Labels for tests.", kExtra, Ports, Calls, Events)
