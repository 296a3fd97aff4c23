// The directory of a cgroup: found by the path in a thread's cgroup file, then read file by file.
//
// It is opened once, and its files are opened relative to it: that is cheaper, and all that is read
// belongs to one cgroup, even when another of the same name replaces it. Nothing outside the host's
// cgroup directory is ever opened: no "..", no symbolic link.
//
// What is here:   opening, reading, why there is nothing to read, and a batch's rows one by one.
// What is not:    what the files say (the plugins), where a cgroup is (path.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/reads.hpp"

namespace ctprof::cgroupfs {

// One cgroup at a time. One object per worker.
class Directory {
 public:
  explicit Directory(const sdk::Host& host);

  // Makes the cgroup of this path the one that is read. A gap when it cannot be; None when it can.
  //
  // A path that ends in " (deleted)" is looked for under that very name: a cgroup may be called
  // that, and one that was removed is not found.
  Gap open(std::string_view path);

  // A file of the cgroup; the text lives until the next read. `controller` is the one that brings
  // the file, "" when all cgroups should have it.
  sdk::Reading<std::string_view> read(const char* file, std::string_view controller = {});

  // Why this cgroup has nothing of what a controller brings: NotApplicable for the root of the
  // hierarchy, SwitchedOff where the parent does not pass the controller on, Unsupported when it
  // does and the kernel lacks the figure.
  Gap why_without(std::string_view controller);

 private:
  struct Facts {
    Gap gap = Gap::None;  // why there are none
    bool is_root = false;
    bool is_threaded = false;
    std::string controllers;
  };

  Gap open_below(const char* path);
  const Facts& facts();
  Facts read_facts();
  Gap gone() const;
  Gap gap_of(int error) const;

  sdk::Host host_;
  std::string mount_root_;
  std::string branch_;
  bool branch_known_ = false;
  sdk::Fd dir_;
  bool facts_known_ = false;
  Facts facts_;
  sdk::TextFile file_;
  sdk::TextFile facts_file_;
};

// Whether a list of words with blanks between, such as cgroup.controllers, has this one.
bool has_word(std::string_view words, std::string_view word);

// Opens the cgroup of each row in turn, and calls `fill(file, row)` for each file of the table that
// is wanted. Where the cgroup cannot be opened, all files fail with that gap. REQUIRES: the batch
// is one of cgroups.
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
