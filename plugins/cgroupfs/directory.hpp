// Finds the directory of a cgroup by the path in a thread's cgroup file, and reads its files.
//
// It opens the directory once, and the files relative to it. That is cheaper, and all values belong
// to one cgroup even when another of the same name replaces it. It never opens anything outside the
// host's cgroup directory: no "..", no symbolic link.
//
// See also: path.hpp for the location of a cgroup; the plugins for the contents of the files.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/reads.hpp"

namespace ctprof::cgroupfs {

// Reads one cgroup at a time. Each worker has an object of its own.
class Directory {
 public:
  explicit Directory(const sdk::Host& host);

  // Opens the cgroup with this path for read(). Returns the gap on failure, None on success.
  //
  // A path that ends in " (deleted)" is looked up literally, because a cgroup may have such a name.
  // A removed cgroup is not found.
  Gap open(std::string_view path);

  // Reads a file of the cgroup; the text is valid until the next read. `controller` is the one that
  // provides the file, "" if all cgroups should have it.
  sdk::Reading<std::string_view> read(const char* file, std::string_view controller = {});

  // Returns the gap of a value that a controller provides and this cgroup lacks: NotApplicable for
  // the root of the hierarchy, SwitchedOff if the parent does not pass the controller on,
  // Unsupported if it does and the kernel lacks the value.
  Gap gap_without_controller(std::string_view controller);

 private:
  struct Facts {
    Gap gap = Gap::None;  // why the facts are unavailable
    bool is_root = false;
    bool is_threaded = false;
    std::string controllers;
  };

  Gap open_below(const char* path);
  const Facts& facts();
  Facts read_facts();
  Gap gap_of_missing_cgroup() const;
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

// Opens a directory for O_PATH below `root`, without symbolic links and "..". Sets errno on
// failure.
sdk::Fd open_beneath(int root, const char* path);

// Returns whether a list of words separated by blanks, such as cgroup.controllers, contains `word`.
bool has_word(std::string_view words, std::string_view word);

// Opens the cgroup of each row in turn, and calls `fill(file, row)` for each selected file of the
// table. If a cgroup cannot be opened, all its files fail with that gap. REQUIRES: the batch is one
// of cgroups.
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
