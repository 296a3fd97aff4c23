#include "plugins/cgroup/files.hpp"

namespace ctprof::cgroup {
namespace {

// A key that the cpu controller brings.
sdk::Reading<std::uint64_t> bandwidth(std::string_view text, std::string_view key,
                                      cgroupfs::Directory& directory) {
  const auto value = flat_value(text, key);
  return value.gap == Gap::Unsupported ? sdk::Reading<std::uint64_t>(directory.why_without("cpu"))
                                       : value;
}

}  // namespace

void CpuStatFile::fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory) {
  times_.put(row, flat_value(text, "usage_usec"), flat_value(text, "user_usec"),
             flat_value(text, "system_usec"));
  if (!bandwidth_) return;  // why it is missing would cost two files more
  bandwidth_.put(row, bandwidth(text, "nr_periods", directory),
                 bandwidth(text, "nr_throttled", directory),
                 bandwidth(text, "throttled_usec", directory),
                 bandwidth(text, "nr_bursts", directory), bandwidth(text, "burst_usec", directory));
}

void CpuStatFile::fail(std::uint32_t row, Gap gap) {
  times_.fail(row, gap);
  bandwidth_.fail(row, gap);
}

void CpuStatFile::refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                         const sdk::Remedy& remedy) {
  Times::refuse(probe, gap, reason, remedy);
  Bandwidth::refuse(probe, gap, reason, remedy);
}

void CpuStatFile::lacks(const sdk::Probe& probe, std::string_view sentence,
                        const sdk::Remedy& remedy) {
  Times::lacks(probe, sentence, remedy);
  Bandwidth::lacks(probe, sentence, remedy);
}

void CpuStatLocalFile::fill(std::uint32_t row, std::string_view text,
                            cgroupfs::Directory& directory) {
  put(row, bandwidth(text, "throttled_usec", directory));
}

void CpuMaxFile::fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
  const CpuMax max = parse_cpu_max(text);
  put(row, max.quota_us, max.period_us);
}

void IoStatFile::fill(std::uint32_t row, std::string_view text, cgroupfs::Directory&) {
  parse_io_stat(text, io_);
  put(row, io_[IoStat::Rbytes], io_[IoStat::Wbytes], io_[IoStat::Rios], io_[IoStat::Wios],
      io_[IoStat::Dbytes], io_[IoStat::Dios]);
}

}  // namespace ctprof::cgroup
