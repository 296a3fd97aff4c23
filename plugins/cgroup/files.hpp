// The files of a cgroup, each with the columns that it fills and the controller that provides it.
//
// Each file is a type with kName, kController ("" if every cgroup has the file) and fill(row, text,
// directory), in addition to the members of sdk::Fields. AllFiles lists them all.
//
// See also: formats.hpp and plugins/shared/text_formats for formats, plugins/cgroupfs for finding
// cgroups.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/table.hpp"
#include "plugins/cgroup/formats.hpp"
#include "plugins/cgroupfs/directory.hpp"
#include "plugins/shared/text_formats.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::cgroup {

// Returns the controller of a file: "memory" for "memory.current", none for "cgroup.*".
constexpr std::string_view controller_of(std::string_view file) {
  const auto controller = file.substr(0, file.find('.'));
  return controller == "cgroup" ? std::string_view{} : controller;
}

template <const auto& kMetric, sdk::Name kFile>
struct OneMetricFile : sdk::Fields<kMetric> {
  using sdk::Fields<kMetric>::Fields;
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

// A map of all keys in the file.
template <const auto& kMetric, sdk::Name kFile>
struct MapFile : OneMetricFile<kMetric, kFile> {
  using OneMetricFile<kMetric, kFile>::OneMetricFile;
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    const bool is_valid = parse_flat_keyed(text, entries_);
    this->put(row, is_valid ? sdk::Reading<sdk::Entries>(entries_)
                            : sdk::Reading<sdk::Entries>(Gap::Malformed));
  }

 private:
  std::vector<ctprof_entry> entries_;
};

// Returns the value of a key of cpu.stat in microseconds.
template <sdk::Name kKey>
sdk::ReadingOf<sdk::MonotonicUs> usec(const std::string_view& text) {
  static_assert(kKey.view().ends_with("_usec"));
  return find_flat_value(text, kKey.view());
}

// Returns the same for keys that only the cpu controller provides; `directory` determines the gap
// of a missing key.
sdk::Reading<std::uint64_t> bandwidth(std::string_view text, std::string_view key,
                                      cgroupfs::Directory& directory);
template <sdk::Name kKey>
sdk::ReadingOf<sdk::MonotonicUs> bandwidth_usec(const std::string_view& text,
                                                cgroupfs::Directory& directory) {
  static_assert(kKey.view().ends_with("_usec"));
  return bandwidth(text, kKey.view(), directory);
}
template <sdk::Name kKey>
sdk::ReadingOf<sdk::MonotonicCount> bandwidth_count(const std::string_view& text,
                                                    cgroupfs::Directory& directory) {
  static_assert(kKey.view().starts_with("nr_"));
  return bandwidth(text, kKey.view(), directory);
}

// Every cgroup has cpu.stat, but its bandwidth keys exist only with the cpu controller.
using CpuTimes = sdk::Table<sdk::Fill<vocabulary::cgroup_cpu_usage_usec, usec<"usage_usec">>,
                            sdk::Fill<vocabulary::cgroup_cpu_user_usec, usec<"user_usec">>,
                            sdk::Fill<vocabulary::cgroup_cpu_system_usec, usec<"system_usec">>>;
using CpuBandwidth =
    sdk::Table<sdk::Fill<vocabulary::cgroup_cpu_nr_periods, bandwidth_count<"nr_periods">>,
               sdk::Fill<vocabulary::cgroup_cpu_nr_throttled, bandwidth_count<"nr_throttled">>,
               sdk::Fill<vocabulary::cgroup_cpu_throttled_usec, bandwidth_usec<"throttled_usec">>,
               sdk::Fill<vocabulary::cgroup_cpu_nr_bursts, bandwidth_count<"nr_bursts">>,
               sdk::Fill<vocabulary::cgroup_cpu_burst_usec, bandwidth_usec<"burst_usec">>>;

struct CpuStatFile : sdk::Groups<CpuTimes, CpuBandwidth> {
  using Groups::Groups;
  using Bandwidth = CpuBandwidth;
  static constexpr const char* kName = "cpu.stat";
  static constexpr std::string_view kController{};
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory);
};

// cpu.stat.local: empty without the cpu controller.
struct CpuStatLocalFile : sdk::Table<sdk::Fill<vocabulary::cgroup_cpu_local_throttled_usec,
                                               bandwidth_usec<"throttled_usec">>> {
  using Table::Table;
  static constexpr const char* kName = "cpu.stat.local";
  static constexpr std::string_view kController{};
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory) {
    put(row, text, directory);
  }
};

struct CpuMaxFile
    : sdk::Table<sdk::Fill<vocabulary::cgroup_cpu_max_quota_us, &CpuMax::quota_us>,
                 sdk::Fill<vocabulary::cgroup_cpu_max_period_us, &CpuMax::period_us>> {
  using Table::Table;
  static constexpr const char* kName = "cpu.max";
  static constexpr std::string_view kController = "cpu";
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    put(row, parse_cpu_max(text));
  }
};

struct IoStatFile
    : sdk::Table<sdk::Fill<vocabulary::cgroup_io_stat_rbytes, io_bytes<IoStat::Rbytes>>,
                 sdk::Fill<vocabulary::cgroup_io_stat_wbytes, io_bytes<IoStat::Wbytes>>,
                 sdk::Fill<vocabulary::cgroup_io_stat_rios, io_calls<IoStat::Rios>>,
                 sdk::Fill<vocabulary::cgroup_io_stat_wios, io_calls<IoStat::Wios>>,
                 sdk::Fill<vocabulary::cgroup_io_stat_dbytes, io_bytes<IoStat::Dbytes>>,
                 sdk::Fill<vocabulary::cgroup_io_stat_dios, io_calls<IoStat::Dios>>> {
  using Table::Table;
  static constexpr const char* kName = "io.stat";
  static constexpr std::string_view kController = "io";
  void fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
    parse_io_stat(text, io_);
    put(row, io_);
  }

 private:
  IoStat io_;
};

using AllFiles =
    sdk::Groups<CpuStatFile, CpuStatLocalFile, CpuMaxFile,
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
