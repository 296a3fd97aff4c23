#include "core/capture/host_context.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "core/capture/kernel_facts.hpp"
#include "core/file/json_out.hpp"

namespace ctprof {
namespace {

// Fills one object from files under the two roots.
class Context {
 public:
  explicit Context(const Roots& roots) : roots_(roots) {}

  RawJson make() {
    out_.put('{');
    add_cpu();
    add_memory();
    add_huge_pages();
    add_tunables();
    add_processors();
    add_kernel();
    add_accounting();
    out_.close('}');
    return RawJson(out_.view());
  }

 private:
  // A file's text, trimmed; empty when there is none.
  std::string read(int root, const std::string& path) {
    const auto text = file_.read(root, path.c_str());
    return std::string(text ? sdk::trimmed(text.value) : std::string_view{});
  }
  std::string proc(const std::string& path) { return read(roots_.proc_fd.get(), path); }
  std::string sys(const std::string& path) { return roots_.sys_fd ? read(roots_.sys_fd.get(), path) : std::string(); }

  void put(std::string_view key, std::string_view text) {
    if (text.empty()) return;
    out_.key(key);
    out_.text(text);
    out_.put(',');
  }
  void put(std::string_view key, std::uint64_t number) {
    out_.key(key);
    out_.number(number);
    out_.put(',');
  }
  void put(std::string_view key, const std::map<std::string, std::string>& texts) {
    if (texts.empty()) return;
    out_.key(key);
    out_.put('{');
    for (const auto& [name, text] : texts) put(name, text);
    out_.close('}');
    out_.put(',');
  }

  void add_cpu() {
    const std::string text = proc("cpuinfo");
    const std::string_view first_block = std::string_view(text).substr(0, text.find("\n\n"));
    if (const auto model = sdk::value_of(first_block, "model name")) put("cpu_model", model.value);
    if (const auto vendor = sdk::value_of(first_block, "vendor_id")) put("cpu_vendor", vendor.value);
  }

  void add_memory() {
    const std::string text = proc("meminfo");
    add_number(text, "MemTotal", {"total_memory_kib", "total_memory_kb"});
    add_number(text, "HugePages_Total", {"hugepages_total"});
    add_number(text, "HugePages_Free", {"hugepages_free"});
    add_number(text, "Hugepagesize", {"hugepages_size_kib", "hugepages_size_kb"});
  }

  // The reference has two spellings of some keys.
  void add_number(std::string_view text, std::string_view key, std::initializer_list<std::string_view> names) {
    const auto value = sdk::value_of(text, key);
    if (!value) return;
    std::string_view digits = value.value;
    const auto number = sdk::number<std::uint64_t>(sdk::take(digits, ' '));
    if (number)
      for (const std::string_view name : names) put(name, number.value);
  }

  void add_huge_pages() {
    put("thp_enabled", sys("kernel/mm/transparent_hugepage/enabled"));
    put("thp_defrag", sys("kernel/mm/transparent_hugepage/defrag"));
  }

  void add_tunables() {
    std::map<std::string, std::string> tunables;
    const int fd = ::openat(roots_.proc_fd.get(), "sys/kernel", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
    while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
      if (const std::string name = entry->d_name; name.starts_with("sched_") && entry->d_type == DT_REG)
        tunables[name] = proc("sys/kernel/" + name);
    put("sched_tunables", tunables);
  }

  void add_processors() {
    const auto online = parse_cpu_list(sys("devices/system/cpu/online"));
    const auto nodes = parse_cpu_list(sys("devices/system/node/online"));
    if (!online.empty()) put("online_cpus", std::uint64_t{online.size()});
    if (!online.empty()) put("numa_nodes", std::max<std::uint64_t>(nodes.size(), 1));
    std::map<std::string, std::string> governors;
    for (const unsigned cpu : online) {
      const std::string number = std::to_string(cpu);
      const std::string governor = sys("devices/system/cpu/cpu" + number + "/cpufreq/scaling_governor");
      if (!governor.empty()) governors[number] = governor;
    }
    put("cpufreq_governor", governors);
  }

  void add_kernel() {
    utsname names{};
    if (roots_.live && ::uname(&names) == 0) {
      put("kernel_name", names.sysname);
      put("kernel_release", names.release);
      put("arch", names.machine);
    } else {
      add_recorded_kernel();
    }
    put("kernel_cmdline", proc("cmdline"));
  }

  // "Linux version 6.12.1 (...": the name and the release are the first and third word.
  void add_recorded_kernel() {
    const std::string version = proc("version");
    std::string_view rest = version;
    put("kernel_name", sdk::take(rest, ' '));
    sdk::take(rest, ' ');
    put("kernel_release", sdk::take(rest, ' '));
    put("arch", proc("sys/kernel/arch"));
  }

  void add_accounting() {
    const std::string delayacct = proc("sys/kernel/task_delayacct");
    put("task_delayacct", std::string_view(delayacct.empty() ? "config_off" : delayacct == "1" ? "on" : "runtime_off"));
    put("config_task_xacct", kernel_option(roots_.proc_fd.get(), "CONFIG_TASK_XACCT"));
  }

  const Roots& roots_;
  sdk::TextFile file_;
  JsonOut out_;
};

}  // namespace

RawJson host_context(const Roots& roots) { return Context(roots).make(); }

}  // namespace ctprof
