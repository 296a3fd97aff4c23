// The directory of the windows of record --repeat, or of one side of --interleave.
//
//   auto directory = WindowDirectory::make("runs");
//   auto target = directory->open_target(options, 1);   // runs/01.ctprof.zst
//
// It is opened and checked once, with the rights of the user. Later windows are written to the same
// directory even if another one gets its name.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/commands/record_options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

class WindowDirectory {
 public:
  // Creates the directory. Accepts an existing empty one that only the user of this process
  // controls (core/base/own_files.hpp): another user could read or replace its files.
  static Result<WindowDirectory> make(const std::string& path);

  // Opens the target of window `number`: of 8 windows, the first is DIR/01.ctprof.zst. Fails if the
  // name belongs to something other than a regular file, or as open_checked_target() does.
  Result<Target> open_target(const RecordCommandOptions& options, std::uint64_t number) const;

 private:
  WindowDirectory(std::string path, sdk::Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;  // without trailing slashes
  sdk::Fd directory_;
};

}  // namespace ctprof::cli
