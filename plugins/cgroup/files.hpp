// The files of a cgroup, each with the columns that it fills and the controller that brings it.
//
// A file type has kName, kController ("" when every cgroup has it) and fill(row, text, directory),
// beside what Fields gives. AllFiles is the table of them.
//
// What is here:   which column comes from which file.
// What is not:    formats (limit, io_stat, plugins/shared/flat_keyed), finding the cgroup
// (plugins/cgroupfs).

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/cgroup/io_stat.hpp"
#include "plugins/cgroup/limit.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/shared/file_table.hpp"
#include "plugins/shared/flat_keyed.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::cgroup {

// "memory.current" is the memory controller's; what begins with "cgroup." is nobody's.
constexpr std::string_view controller_of(std::string_view file) {
  const auto controller = file.substr(0, file.find('.'));
  return controller == "cgroup" ? std::string_view{} : controller;
}

template <const auto& kMetric, sdk::Name kFile>
struct OneMetricFile : Fields<kMetric> {
  using Fields<kMetric>::Fields;
  static constexpr const char* kName = kFile.text;
  static constexpr std::string_view kController = controller_of(kFile.view());
};

// A single number.
template <const auto& kMetric, sdk::Name kFile>
struct NumberFile : OneMetricFile<kMetric, kFile> {
  using OneMetricFile<kMetric, kFile>::OneMetricFile;
  using Number = typename sdk::CellOf<std::remove_cvref_t<decltype(kMetric)>::kStorage>::type;
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    this->put(row, sdk::number<Number>(sdk::trimmed(text)));
  }
};

// A single number, or `max`.
template <const auto& kMetric, sdk::Name kFile>
struct LimitFile : OneMetricFile<kMetric, kFile> {
  using OneMetricFile<kMetric, kFile>::OneMetricFile;
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    this->put(row, parse_limit(text));
  }
};

// Keys and numbers, all of them.
template <const auto& kMetric, sdk::Name kFile>
struct MapFile : OneMetricFile<kMetric, kFile> {
  using OneMetricFile<kMetric, kFile>::OneMetricFile;
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    const bool sound = parse_flat_keyed(text, entries_);
    this->put(row, sound ? sdk::Reading<sdk::Entries>(entries_)
                         : sdk::Reading<sdk::Entries>(Gap::Malformed));
  }

 private:
  std::vector<ctprof_entry> entries_;
};

// cpu.stat is there in every cgroup; what it says of bandwidth, only where the cpu controller is.
class CpuStatFile {
 public:
  using Times = Fields<vocabulary::cgroup_cpu_usage_usec, vocabulary::cgroup_cpu_user_usec,
                       vocabulary::cgroup_cpu_system_usec>;
  using Bandwidth = Fields<vocabulary::cgroup_cpu_nr_periods, vocabulary::cgroup_cpu_nr_throttled,
                           vocabulary::cgroup_cpu_throttled_usec, vocabulary::cgroup_cpu_nr_bursts,
                           vocabulary::cgroup_cpu_burst_usec>;
  static constexpr auto kOffers = joined(Times::kOffers, Bandwidth::kOffers);
  static constexpr const char* kName = "cpu.stat";
  static constexpr std::string_view kController{};

  explicit CpuStatFile(const sdk::Batch& batch) : times_(batch), bandwidth_(batch) {}
  explicit operator bool() const { return times_ || bandwidth_; }
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory);
  void fail(std::uint32_t row, Gap gap);
  static void refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                     const sdk::Remedy& remedy);
  static void lacks(const sdk::Probe& probe, std::string_view sentence, const sdk::Remedy& remedy);

 private:
  Times times_;
  Bandwidth bandwidth_;
};

// cpu.stat.local: empty where the cpu controller is not.
struct CpuStatLocalFile : Fields<vocabulary::cgroup_cpu_local_throttled_usec> {
  using Fields::Fields;
  static constexpr const char* kName = "cpu.stat.local";
  static constexpr std::string_view kController{};
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory);
};

struct CpuMaxFile
    : Fields<vocabulary::cgroup_cpu_max_quota_us, vocabulary::cgroup_cpu_max_period_us> {
  using Fields::Fields;
  static constexpr const char* kName = "cpu.max";
  static constexpr std::string_view kController = "cpu";
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory);
};

struct IoStatFile : Fields<vocabulary::cgroup_io_stat_rbytes, vocabulary::cgroup_io_stat_wbytes,
                           vocabulary::cgroup_io_stat_rios, vocabulary::cgroup_io_stat_wios,
                           vocabulary::cgroup_io_stat_dbytes, vocabulary::cgroup_io_stat_dios> {
  using Fields::Fields;
  static constexpr const char* kName = "io.stat";
  static constexpr std::string_view kController = "io";
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory);

 private:
  IoStat io_;
};

using AllFiles =
    FileTable<CpuStatFile, CpuStatLocalFile, CpuMaxFile,
              NumberFile<vocabulary::cgroup_cpu_weight, "cpu.weight">,
              NumberFile<vocabulary::cgroup_cpu_weight_nice, "cpu.weight.nice">,
              NumberFile<vocabulary::cgroup_memory_current, "memory.current">,
              NumberFile<vocabulary::cgroup_memory_peak, "memory.peak">,
              LimitFile<vocabulary::cgroup_memory_max, "memory.max">,
              LimitFile<vocabulary::cgroup_memory_high, "memory.high">,
              LimitFile<vocabulary::cgroup_memory_low, "memory.low">,
              LimitFile<vocabulary::cgroup_memory_min, "memory.min">,
              NumberFile<vocabulary::cgroup_memory_swap_current, "memory.swap.current">,
              LimitFile<vocabulary::cgroup_memory_swap_max, "memory.swap.max">,
              NumberFile<vocabulary::cgroup_memory_zswap_current, "memory.zswap.current">,
              MapFile<vocabulary::cgroup_memory_stat, "memory.stat">,
              MapFile<vocabulary::cgroup_memory_events, "memory.events">,
              NumberFile<vocabulary::cgroup_pids_current, "pids.current">,
              LimitFile<vocabulary::cgroup_pids_max, "pids.max">,
              NumberFile<vocabulary::cgroup_pids_peak, "pids.peak">,
              MapFile<vocabulary::cgroup_pids_events, "pids.events">, IoStatFile,
              MapFile<vocabulary::cgroup_cgroup_stat, "cgroup.stat">>;

static_assert(AllFiles::kOffers.size() == vocabulary::kCgroupMetrics.size(),
              "every metric of the plugin has a file");

}  // namespace ctprof::cgroup
