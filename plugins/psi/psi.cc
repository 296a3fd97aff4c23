// psi: pressure, the share of time in which work waited for CPU, memory, I/O or interrupts, of the
// host and of each cgroup.
//
// Source: /proc/pressure/{cpu,memory,io,irq} and <cgroup>/{cpu,memory,io,irq}.pressure; CONFIG_PSI,
// and psi=1 on the command line where the kernel asks for it. irq needs CONFIG_IRQ_TIME_ACCOUNTING.
//
// What is here:   the two sources and the plugin's table.
// What is not:    which column comes from which line (files.hpp), what the host lacks (probe.cc),
// finding cgroups (plugins/cgroupfs).

#include "ctprof/plugin.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/rows.hpp"
#include "plugins/psi/files.hpp"
#include "plugins/psi/probe.hpp"

namespace ctprof::psi {
namespace {

class OfHost : public sdk::HostSource {
 public:
  static constexpr const char* kName = "host";
  static constexpr auto kOffers = HostFiles::kOffers;

  explicit OfHost(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }

  void collect(const sdk::Batch& batch) {
    HostFiles files(batch);
    for (std::uint32_t row = 0; row < batch.rows(); ++row)
      files.for_each([&](auto& file) {
        if (file) fill(file, row);
      });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = file_.read(host_.proc(), File::kHostName);
    text ? file.fill(row, text.value) : file.fail(row, gap_of(file_.last_errno()));
  }

  // Nothing goes away here: what is missing the kernel has not.
  static Gap gap_of(int error) {
    if (error == ENOENT) return Gap::Unsupported;
    return error == EOPNOTSUPP ? Gap::SwitchedOff : gap_of_errno(error);
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

class OfCgroups : public sdk::CgroupSource {
 public:
  static constexpr const char* kName = "cgroups";
  static constexpr auto kOffers = CgroupFiles::kOffers;

  explicit OfCgroups(const sdk::Host& host) : directory_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_cgroups(host, probe); }

  void collect(const sdk::Batch& batch) {
    CgroupFiles files(batch);
    cgroupfs::fill_rows(batch, directory_, files,
                        [this](auto& file, std::uint32_t row) { fill(file, row); });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = directory_.read(File::kCgroupName);
    text ? file.fill(row, text.value) : file.fail(row, why_missing(text.gap));
  }

  // A cgroup's own switch hides its files.
  Gap why_missing(Gap gap) {
    if (gap != Gap::Unsupported) return gap;
    const auto text = directory_.read("cgroup.pressure");
    return text && sdk::trimmed(text.value) == "0" ? Gap::SwitchedOff : gap;
  }

  cgroupfs::Directory directory_;
};

}  // namespace
}  // namespace ctprof::psi

CTPROF_PLUGIN("psi", "1.0", "Pressure stall information of the host and of cgroups.",
              ctprof::psi::OfHost, ctprof::psi::OfCgroups)
