// Separates the capabilities of the executable from the user's own privileges: when ctprof drops
// the capabilities, and where a command writes its file.
//
// The capabilities are for reading threads that the kernel hides from the user, not for opening
// files that the user names. Otherwise a ctprof with cap_dac_read_search would show every user the
// snapshots of all others. Commands that do not read the kernel drop the capabilities first;
// capture keeps them only while it reads. A process that got no capabilities from its file
// (AT_SECURE is 0) keeps those of its user.
//
// setuid executables are not supported. Other threads keep their capabilities, because they open no
// files that the user names.

#pragma once

#include <functional>
#include <string>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/runtime/file_kind.hpp"

namespace ctprof::cli {

// Drops the capabilities permanently.
Result<void> drop_privileges();

// Runs `activity` without the capabilities and returns its result.
Result<void> without_privileges(const std::function<Result<void>()>& activity);

// The file that -o names, or standard output.
struct Target {
  Destination destination;
  bool is_stdout;
  std::string name;  // as reported
};

// Return what a second interrupt would lose (set_interrupt_loss). describe_unwritten() is for the
// time before the file is written: "nothing was written to 'run.ctprof.zst'".
// describe_partial_write() is for the time while it is written, when the file may already have its
// final name.
std::string describe_unwritten(const Target& target);
std::string describe_partial_write(const Target& target);

// Opens the target before the work that would otherwise be lost, with the user's own privileges: a
// ctprof with capabilities writes only where its user may. Fails if -o is missing, names the
// terminal, cannot be written, or names another kind of file without --force.
Result<Target> open_checked_target(const OutputOptions& options,
                                   const FileKind& kind = kSnapshotFile);

// Do the same in two steps, for callers with work to do in between: the first finds a writable
// place, the second checks whether an existing file may be replaced, for which it decompresses the
// file.
Result<Target> open_target(const OutputOptions& options);
Result<void> check_target_replaceable(const Target& target, const OutputOptions& options,
                                      const FileKind& kind = kSnapshotFile);

}  // namespace ctprof::cli
