// example_wchan: the kernel function in which each thread sleeps.
//
// Source: /proc/<tgid>/task/<tid>/wchan, a name without a newline. The kernel writes "0" if it
// does not name a function. There are three reasons: the thread does not sleep (`stat` shows its
// state); the reader has no permission (then reading `io` fails, too); or this kernel cannot
// determine the function.

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;
using ctprof::Gap;

constexpr sdk::Metric<sdk::CategoricalString, sdk::Mode> kWchan{
    {.name = "example_wchan",
     .config_gates = "CONFIG_KALLSYMS",
     .source = "/proc/<tgid>/task/<tid>/wchan",
     .description = "Kernel function in which the thread sleeps."}};

class Wchan : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = sdk::offers(kWchan);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    const auto text = sdk::TextFile().read(host, host.sample(), "wchan");
    if (!text) probe.refuse(kWchan, Gap::Unsupported, "threads have no file wchan on this kernel");
  }

  explicit Wchan(const sdk::Host& host) : host_(host) {}

  void collect(const sdk::Batch& batch) {
    auto wchan = batch.column(kWchan);
    for (sdk::Thread thread : batch.threads()) wchan.put(thread, read(thread));
  }

 private:
  sdk::Reading<std::string_view> read(const sdk::Thread& thread) {
    const auto text = file_.read(host_, thread, "wchan");
    return text && text.value == "0" ? sdk::Reading<std::string_view>(why_none(thread)) : text;
  }

  Gap why_none(const sdk::Thread& thread) {
    const auto stat = file_.read(host_, thread, "stat");
    if (!stat) return stat.gap;
    const auto state = stat.value.substr(stat.value.rfind(") ") + 2, 1);
    if (state == "R" || state == "Z" || state == "X") return Gap::NotApplicable;
    return file_.read(host_, thread, "io").gap == Gap::Denied ? Gap::Denied : Gap::Unsupported;
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace

CTPROF_PLUGIN("example", "1.0", "The kernel function in which each thread sleeps.", Wchan)
