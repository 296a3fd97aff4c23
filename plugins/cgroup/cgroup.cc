// cgroup: CPU time, limits, memory, processes and I/O of every cgroup in which a thread lives, and
// of its ancestors.
//
// Source: the cgroup v2 hierarchy, wherever it is mounted: <cgroup>/{cpu,memory,pids,io,cgroup}.*;
// what a hybrid host keeps in v1 hierarchies is not read. A cgroup's directory is opened once, a
// file when a wanted column needs it.
//
// What is here:   the source and the plugin's table.
// What is not:    which column comes from which file (files.hpp), what the host lacks (probe.cc),
// finding cgroups (plugins/cgroupfs).

#include "ctprof/plugin.hpp"
#include "plugins/cgroup/files.hpp"
#include "plugins/cgroup/probe.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/cgroupfs/rows.hpp"

namespace ctprof::cgroup {
namespace {

class Cgroups : public sdk::CgroupSource {
 public:
  static constexpr auto kOffers = AllFiles::kOffers;

  explicit Cgroups(const sdk::Host& host) : directory_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_cgroups(host, probe); }

  void collect(const sdk::Batch& batch) {
    AllFiles files(batch);
    cgroupfs::fill_rows(batch, directory_, files,
                        [this](auto& file, std::uint32_t row) { fill(file, row); });
  }

 private:
  template <class File>
  void fill(File& file, std::uint32_t row) {
    const auto text = directory_.read(File::kName, File::kController);
    text ? file.fill(row, text.value, directory_) : file.fail(row, text.gap);
  }

  cgroupfs::Directory directory_;
};

}  // namespace
}  // namespace ctprof::cgroup

CTPROF_PLUGIN(
    "cgroup", "1.0",
    "CPU time, limits, memory, processes and I/O of cgroups, from the cgroup v2 hierarchy.",
    ctprof::cgroup::Cgroups)
