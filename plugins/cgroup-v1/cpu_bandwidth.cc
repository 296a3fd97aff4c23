#include "plugins/cgroup-v1/cpu_bandwidth.hpp"

#include <limits>

#include "plugins/shared/text_formats.hpp"

namespace ctprof::cgroup_v1 {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Returns the text of a file. ThreadGone means that the directory does not have the file.
sdk::Reading<std::string_view> read_text(sdk::TextFile& file, int directory, const char* name) {
  const auto text = file.read(directory, name);
  return text.gap == Gap::ThreadGone ? sdk::Reading<std::string_view>(Gap::Unsupported) : text;
}

}  // namespace

bool CpuBandwidth::is_limited() const {
  if (periods && periods.value.value > 0) return true;
  return quota_us ? quota_us.value.value != kNoLimit : quota_us.gap != Gap::Unsupported;
}

sdk::ReadingOf<sdk::LimitUs> parse_quota(std::string_view text) {
  text = sdk::trimmed(text);
  return text == "-1" ? sdk::Reading<std::uint64_t>(kNoLimit) : sdk::number<std::uint64_t>(text);
}

CpuBandwidth read_bandwidth(sdk::TextFile& file, int directory) {
  CpuBandwidth found;
  const auto quota = read_text(file, directory, "cpu.cfs_quota_us");
  found.quota_us = quota ? parse_quota(quota.value) : quota.gap;
  const auto period = read_text(file, directory, "cpu.cfs_period_us");
  found.period_us = period ? sdk::number<std::uint64_t>(sdk::trimmed(period.value)) : period.gap;
  const auto stat = read_text(file, directory, "cpu.stat");
  const auto value = [&](std::string_view key) {
    return stat ? find_flat_value(stat.value, key) : sdk::Reading<std::uint64_t>(stat.gap);
  };
  found.periods = value("nr_periods");
  found.throttled_periods = value("nr_throttled");
  found.throttled_time = value("throttled_time");
  return found;
}

}  // namespace ctprof::cgroup_v1
