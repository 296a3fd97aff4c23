// host: the host that the threads run on: where its CPUs' time went, and what must be alike for two
// captures to be compared.
//
// Sources: /proc/stat; cpuinfo, meminfo, cmdline, version and sys/kernel/sched_* under /proc;
// transparent_hugepage and CPUs under /sys. It is loaded whatever was asked for
// (CTPROF_PLUGIN_ALWAYS): a comparison asks whether two hosts are alike, and a window how much of
// the CPUs' time the threads explain.
//
// What is here:   the source and the plugin's table.
// What is not:    /proc/stat (stat.hpp), the file's `host` object (facts.hpp).

#include "ctprof/plugin.hpp"
#include "plugins/host/facts.hpp"
#include "plugins/host/stat.hpp"

namespace ctprof::host {
namespace {

// The plugin's context: what the source's summary is made of.
struct Context {
  explicit Context(const sdk::Host& host) : host(host) {}
  sdk::Host host;
};

class OfHost : public sdk::HostSource {
 public:
  static constexpr const char* kName = "host";
  static constexpr auto kOffers = StatColumns::kOffers;
  static constexpr const char* kSummaryKey = "host";

  explicit OfHost(const sdk::Host& host) : host_(host) {}

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    sdk::TextFile file;
    if (const auto stat = file.read_records(host.proc(), "stat"); !stat)
      probe.refuse_all(stat.gap == Gap::ThreadGone ? Gap::Unsupported : stat.gap,
                       "there is no /proc/stat that can be read");
  }

  void collect(const sdk::Batch& batch) {
    StatColumns columns(batch);
    const auto text = file_.read_records(host_.proc(), "stat");
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      text ? columns.put(row, parse_stat(text.value), host_.user_hz())
           : columns.fail(row, text.gap);
  }

  static void summarise(const sdk::Summary& summary) {
    put_facts(summary.context<Context>().host, summary);
  }

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};

constexpr sdk::Extra kAlways = [] {
  sdk::Extra extra = sdk::with_context<Context>();
  extra.flags = CTPROF_PLUGIN_ALWAYS;
  return extra;
}();

}  // namespace
}  // namespace ctprof::host

CTPROF_PLUGIN_WITH(
    "host", "1.0",
    "The host's CPU time by state, its interrupts, and what tells it from another host.",
    ctprof::host::kAlways, ctprof::host::OfHost)
