// host: the host's CPU time by state, and the properties that must match for two captures to be
// comparable.
//
// Sources: /proc/stat, loadavg; /sys/block/<disk>/stat; cpuinfo, meminfo, cmdline, version and
// sys/kernel/sched_* under /proc; transparent_hugepage and CPUs under /sys. The core always loads
// the plugin (CTPROF_PLUGIN_ALWAYS): comparisons check whether two hosts match, and windows divide
// the host's CPU time.
//
// Contents: the file's `host` object, the source and the plugin's table.
// See also: stat.hpp for /proc/stat.

#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.hpp"
#include "ctprof/plugin.hpp"
#include "plugins/host/stat.hpp"
#include "plugins/shared/kernel.hpp"
#include "plugins/shared/text_formats.hpp"

namespace ctprof::host {
namespace {

// Limits the disks, because each is a file that is read at both ends of a window.
constexpr std::size_t kMaxDisks = 64;

sdk::ReadingOf<sdk::Flag> reading_of(std::optional<bool> built) {
  if (!built) return Gap::Unsupported;
  return *built;
}

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_directory(int root, const char* path) {
  const int fd = root < 0 ? -1 : ::openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return {fd < 0 ? nullptr : ::fdopendir(fd), &::closedir};
}

// Returns the disks that have a device of their own, sorted by name. Loop devices, RAM disks and
// mapped devices are omitted, because their requests reach one of these disks or none.
std::vector<std::string> list_disks(int sys) {
  std::vector<std::string> disks;
  const Directory directory = open_directory(sys, "block");
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name.starts_with('.') || disks.size() == kMaxDisks) continue;
    if (::faccessat(sys, ("block/" + name + "/device").c_str(), F_OK, 0) == 0)
      disks.push_back(name);
  }
  std::ranges::sort(disks);
  return disks;
}

// The plugin's context: the host, from which the summary is read, and the configuration of its
// kernel.
struct Context {
  explicit Context(const sdk::Host& host) : host(host) {
    constexpr std::array<std::string_view, 3> kOptions{
        "CONFIG_IRQ_TIME_ACCOUNTING", "CONFIG_PARAVIRT_TIME_ACCOUNTING", "CONFIG_TASK_XACCT"};
    const auto built = are_built_with(host, kOptions);
    irq_apart = reading_of(built[0]);
    steal_apart = reading_of(built[1]);
    if (has_configuration_in_proc(host)) task_xacct = built[2];
    disks = list_disks(host.sys());
  }
  sdk::Host host;
  std::vector<std::string> disks;  // existing at the beginning
  sdk::ReadingOf<sdk::Flag> irq_apart = Gap::Unsupported, steal_apart = Gap::Unsupported;
  std::optional<bool> task_xacct;  // only by the configuration in /proc, like the reference
};

// Writes the file's `host` object in the reference's layout: the properties that two hosts must
// share for their captures to be comparable, and those that may explain a difference. These are
// processor, memory, kernel and its command line, and scheduler tunables, but not the host's name.
// Unreadable values are omitted.
class Facts {
 public:
  explicit Facts(const sdk::Summary& summary)
      : context_(summary.context<Context>()), host_(context_.host), summary_(summary) {}

  void put_all() {
    put_cpu();
    put_memory();
    put("thp_enabled", sys("kernel/mm/transparent_hugepage/enabled"));
    put("thp_defrag", sys("kernel/mm/transparent_hugepage/defrag"));
    put_tunables();
    put_processors();
    put_kernel();
    put_accounting();
  }

 private:
  // Returns a file's text, trimmed; empty if it cannot be read.
  std::string read(int root, const std::string& path) {
    const auto text = file_.read(root, path.c_str());
    return std::string(text ? sdk::trimmed(text.value) : std::string_view{});
  }
  std::string proc(const std::string& path) { return read(host_.proc(), path); }
  std::string sys(const std::string& path) {
    return host_.sys() >= 0 ? read(host_.sys(), path) : std::string();
  }

  void put(const std::string& key, std::string_view text) const {
    if (!text.empty()) summary_.put(key.c_str(), text);
  }
  void put(const std::string& key, std::uint64_t number) const {
    summary_.put(key.c_str(), number);
  }

  void put_cpu() {
    const std::string text = proc("cpuinfo");
    const std::string_view first_block = std::string_view(text).substr(0, text.find("\n\n"));
    if (const auto model = sdk::value_of(first_block, "model name")) put("cpu_model", model.value);
    if (const auto vendor = sdk::value_of(first_block, "vendor_id"))
      put("cpu_vendor", vendor.value);
  }

  void put_memory() {
    const std::string text = proc("meminfo");
    put_number(text, "MemTotal", {"total_memory_kib", "total_memory_kb"});
    put_number(text, "HugePages_Total", {"hugepages_total"});
    put_number(text, "HugePages_Free", {"hugepages_free"});
    put_number(text, "Hugepagesize", {"hugepages_size_kib", "hugepages_size_kb"});
  }

  // Stores the number of a key under each of `names`: the reference has two spellings of some keys.
  void put_number(std::string_view text, std::string_view key,
                  std::initializer_list<const char*> names) {
    const auto value = sdk::value_of(text, key);
    if (!value) return;
    std::string_view digits = value.value;
    const auto number = sdk::number<std::uint64_t>(sdk::take(digits, ' '));
    if (number)
      for (const char* name : names) put(name, number.value);
  }

  void put_tunables() {
    std::set<std::string> names;
    const Directory directory = open_directory(host_.proc(), "sys/kernel");
    while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
      // A name with a dot would become an object inside the object.
      if (const std::string name = entry->d_name;
          name.starts_with("sched_") && name.find('.') == name.npos && entry->d_type == DT_REG)
        names.insert(name);
    for (const std::string& name : names) put("sched_tunables." + name, proc("sys/kernel/" + name));
  }

  std::vector<unsigned> cpus_in(const std::string& path) {
    std::vector<std::uint64_t> words;
    std::vector<unsigned> cpus;
    if (!parse_cpu_list(sys(path), words)) return cpus;
    for (unsigned cpu = 0; cpu < words.size() * 64; ++cpu)
      if ((words[cpu / 64] >> cpu % 64 & 1) != 0) cpus.push_back(cpu);
    return cpus;
  }

  void put_processors() {
    const auto online = cpus_in("devices/system/cpu/online");
    const auto nodes = cpus_in("devices/system/node/online");
    if (!online.empty()) put("online_cpus", std::uint64_t{online.size()});
    if (!online.empty()) put("numa_nodes", std::max<std::uint64_t>(nodes.size(), 1));
    std::set<std::string> numbers;  // in alphabetical order, like all keys
    for (const unsigned cpu : online) numbers.insert(std::to_string(cpu));
    for (const std::string& number : numbers)
      put("cpufreq_governor." + number,
          sys("devices/system/cpu/cpu" + number + "/cpufreq/scaling_governor"));
  }

  void put_kernel() {
    utsname names{};
    if (host_.live() && ::uname(&names) == 0) {
      put("kernel_name", names.sysname);
      put("kernel_release", names.release);
      put("arch", names.machine);
    } else {
      put_recorded_kernel();
    }
    put("kernel_cmdline", proc("cmdline"));
  }

  // In "Linux version 6.12.1 (...", the name and the release are the first and third word.
  void put_recorded_kernel() {
    const std::string version = proc("version");
    std::string_view rest = version;
    put("kernel_name", sdk::take(rest, ' '));
    sdk::take(rest, ' ');
    put("kernel_release", sdk::take(rest, ' '));
    put("arch", proc("sys/kernel/arch"));
  }

  void put_accounting() {
    const std::string delayacct = proc("sys/kernel/task_delayacct");
    put("task_delayacct", delayacct.empty()  ? "config_off"
                          : delayacct == "1" ? "on"
                                             : "runtime_off");
    const auto xacct = context_.task_xacct;
    put("config_task_xacct", !xacct ? "unknown" : *xacct ? "on" : "off");
  }

  const Context& context_;
  const sdk::Host& host_;
  const sdk::Summary& summary_;
  sdk::TextFile file_;
};

sdk::ReadingOf<sdk::MonotonicNs> uptime(const sdk::Host& host) {
  timespec now{};
  if (!host.live() || ::clock_gettime(CLOCK_MONOTONIC, &now) != 0) return Gap::Unsupported;
  return to_ns(now);
}

class HostMetrics : public sdk::HostSource {
 public:
  static constexpr const char* kName = "host";
  static constexpr auto kOffers = StatColumns::kOffers;
  static constexpr const char* kSummaryKey = "host";

  explicit HostMetrics(const sdk::Host& host) : host_(host) {}

  // Refuses nothing, because the summary is also needed where /proc/stat is hidden.
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    sdk::TextFile file;
    if (!file.read_records(host.proc(), "stat"))
      StatColumns::lacks(probe, "/proc/stat cannot be read", {});
    else if (list_disks(host.sys()).empty())
      Disks::lacks(probe, "no disk under /sys/block has a device of its own", {});
  }

  void collect(const sdk::Batch& batch) {
    StatColumns columns(batch);
    const auto text = file_.read_records(host_.proc(), "stat");
    Stat stat = parse_stat(text ? text.value : std::string_view{});
    stat.uptime = uptime(host_);
    stat.irq_apart = host_.context<Context>().irq_apart;
    stat.steal_apart = host_.context<Context>().steal_apart;
    read_other_files(stat);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      text ? columns.put(row, stat, host_.user_hz())
           : columns.fail(row, text.gap == Gap::ThreadGone ? Gap::Unsupported : text.gap);
  }

  static void summarise(const sdk::Summary& summary) { Facts(summary).put_all(); }

 private:
  // Values of missing files remain Unsupported.
  void read_other_files(Stat& stat) {
    if (const auto text = file_.read(host_.proc(), "meminfo"))
      stat.memory_available = parse_memory_available(text.value);
    if (const auto text = file_.read(host_.proc(), "loadavg")) stat.load = parse_load(text.value);
    for (const std::string& disk : host_.context<Context>().disks)
      if (const auto text = file_.read(host_.sys(), ("block/" + disk + "/stat").c_str()))
        add_disk(text.value, stat);
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

constexpr sdk::Extra kPluginExtra = [] {
  sdk::Extra extra = sdk::with_context<Context>();
  extra.flags = CTPROF_PLUGIN_ALWAYS;
  return extra;
}();

}  // namespace
}  // namespace ctprof::host

CTPROF_PLUGIN_WITH(
    "host", "1.0",
    "The host's CPU time by state, its interrupts, and the properties that identify it.",
    ctprof::host::kPluginExtra, ctprof::host::HostMetrics)
