#include "plugins/cgroup/files.hpp"

namespace ctprof::cgroup {

sdk::Reading<std::uint64_t> bandwidth(std::string_view text, std::string_view key,
                                      cgroupfs::Directory& directory) {
  const auto value = find_flat_value(text, key);
  return value.gap == Gap::Unsupported
             ? sdk::Reading<std::uint64_t>(directory.gap_without_controller("cpu"))
             : value;
}

void CpuStatFile::fill(std::uint32_t row, std::string_view text, cgroupfs::Directory& directory) {
  get<CpuTimes>().put(row, text);
  if (auto& columns = get<CpuBandwidth>(); columns)
    columns.put(row, text, directory);  // expensive: five searches
}

}  // namespace ctprof::cgroup
