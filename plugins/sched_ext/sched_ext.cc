// sched_ext: whether a BPF scheduler is loaded, which one, and its events.
//
// Source: /sys/kernel/sched_ext/{state,switch_all,nr_rejected,hotplug_seq,enable_seq} and, while a
// scheduler is loaded, root/{ops,events}; Linux 6.12 with CONFIG_SCHED_CLASS_EXT, events from 6.15
// on.
//
// While a scheduler is loaded or unloaded, the files may disagree: state may be "disabled" while
// root/ exists. Each value is reported as it was read.

#include <cerrno>
#include <string_view>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/shared/text_formats.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::sched_ext {
namespace {

constexpr const char* kDirectory = "kernel/sched_ext";
constexpr const char* kScheduler = "kernel/sched_ext/root";  // exists while a scheduler is loaded
constexpr const char* kEvents = "kernel/sched_ext/root/events";

// Files of one word each. The members are named after the metrics.
struct State {
  sdk::ReadingOf<sdk::CategoricalString> state = Gap::Unsupported;
  sdk::ReadingOf<sdk::Flag> switch_all = Gap::Unsupported;
  sdk::ReadingOf<sdk::GaugeCount> nr_rejected = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> hotplug_seq = Gap::Unsupported;
  sdk::ReadingOf<sdk::MonotonicCount> enable_seq = Gap::Unsupported;
};
struct Root {
  sdk::ReadingOf<sdk::CategoricalString> ops = Gap::Unsupported;
  sdk::ReadingOf<sdk::CountMap> events = Gap::Unsupported;
};

using StateFields =
    sdk::Table<sdk::Fill<vocabulary::host_sched_ext_state, &State::state>,
               sdk::Fill<vocabulary::host_sched_ext_switch_all, &State::switch_all>,
               sdk::Fill<vocabulary::host_sched_ext_nr_rejected, &State::nr_rejected>,
               sdk::Fill<vocabulary::host_sched_ext_hotplug_seq, &State::hotplug_seq>,
               sdk::Fill<vocabulary::host_sched_ext_enable_seq, &State::enable_seq>>;
using RootFields = sdk::Table<sdk::Fill<vocabulary::host_sched_ext_root_ops, &Root::ops>,
                              sdk::Fill<vocabulary::host_sched_ext_events, &Root::events>>;

static_assert(StateFields::kOffers.size() + RootFields::kOffers.size() ==
                  vocabulary::kSchedExtMetrics.size(),
              "every metric of the plugin is read");

class SchedExt : public sdk::HostSource {
 public:
  static constexpr auto kOffers = sdk::joined(StateFields::kOffers, RootFields::kOffers);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    if (host.sys() < 0 || is_absent(host.sys(), kDirectory))
      probe.refuse_all(
          Gap::Unsupported,
          "the kernel lacks CONFIG_SCHED_CLASS_EXT (Linux 6.12): /sys/kernel/sched_ext is missing",
          sdk::by_kernel("CONFIG_SCHED_CLASS_EXT=y (Linux 6.12 or newer)"));
  }

  explicit SchedExt(const sdk::Host& host) : host_(host) {}

  void collect(const sdk::Batch& batch) {
    StateFields state(batch);
    RootFields root(batch);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      if (state) fill(state, row);
      if (root) fill(root, row);
    }
  }

 private:
  void fill(StateFields& fields, std::uint32_t row) {
    State state;
    state.switch_all = flag("kernel/sched_ext/switch_all");
    state.nr_rejected = number("kernel/sched_ext/nr_rejected");
    state.hotplug_seq = number("kernel/sched_ext/hotplug_seq");
    state.enable_seq = number("kernel/sched_ext/enable_seq");
    state.state = word("kernel/sched_ext/state");  // last: it is a view into the file
    fields.put(row, state);
  }

  void fill(RootFields& fields, std::uint32_t row) {
    const auto text = events_file_.read(host_.sys(), kEvents);
    Root root;
    if (!text)
      root.events = gap_of_missing_file(kEvents, events_file_.last_errno());
    else if (!parse_flat_keyed(text.value, events_))
      root.events = Gap::Malformed;
    else
      root.events = sdk::Entries(events_);
    root.ops = word("kernel/sched_ext/root/ops");
    fields.put(row, root);
  }

  // Returns the word in a file; it is valid until the next file is read.
  sdk::Reading<std::string_view> word(const char* path) {
    const auto text = file_.read(host_.sys(), path);
    if (!text) return gap_of_missing_file(path, file_.last_errno());
    const auto word = sdk::trimmed(text.value);
    return word.empty() ? sdk::Reading<std::string_view>(Gap::Malformed) : word;
  }

  sdk::Reading<std::uint64_t> number(const char* path) {
    const auto text = word(path);
    return text ? sdk::number<std::uint64_t>(text.value) : sdk::Reading<std::uint64_t>(text.gap);
  }

  sdk::Reading<bool> flag(const char* path) {
    const auto value = number(path);
    return value ? sdk::Reading<bool>(value.value != 0) : sdk::Reading<bool>(value.gap);
  }

  // Files of a scheduler are NotApplicable while no scheduler is loaded. Any other missing file is
  // one that this kernel does not support.
  Gap gap_of_missing_file(std::string_view path, int error) const {
    if (error != ENOENT && error != ENODEV) return gap_of_errno(error);
    const bool is_scheduler_file = path.starts_with(kScheduler);
    return is_scheduler_file && is_absent(host_.sys(), kScheduler) ? Gap::NotApplicable
                                                                   : Gap::Unsupported;
  }

  sdk::Host host_;
  sdk::TextFile file_;
  sdk::TextFile events_file_;
  std::vector<ctprof_entry> events_;
};

}  // namespace
}  // namespace ctprof::sched_ext

CTPROF_PLUGIN("sched_ext", "1.0",
              "The state of the sched_ext class and the BPF scheduler that is loaded.",
              ctprof::sched_ext::SchedExt)
