// The rows of a cgroup source: each cgroup opened, its wanted files filled.

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/identity.hpp"
#include "plugins/cgroupfs/directory.hpp"

namespace ctprof::cgroupfs {

// Calls `fill` with each file of the table that is needed and each row, while `directory` is open
// there. Where it cannot be opened, all files fail for that reason. The source is one of cgroups.
template <class Table, class Fill>
void fill_rows(const sdk::Batch& batch, Directory& directory, Table& table, Fill fill) {
  const auto paths = batch.input(sdk::kCgroupPath);
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    const auto path = paths.at(row);
    const Gap gap = path ? directory.open(path.value) : path.gap;
    table.for_each([&](auto& file) {
      if (file) gap == Gap::None ? fill(file, row) : file.fail(row, gap);
    });
  }
}

}  // namespace ctprof::cgroupfs
