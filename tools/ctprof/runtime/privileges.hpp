// What ctprof does with the user's own rights: the capabilities that the executable gave it, when
// it drops them, and the place where a command writes its file.
//
// The capabilities are for reading threads that the kernel hides from whoever started ctprof, not
// for opening files that the user names: otherwise a ctprof with cap_dac_read_search would show
// anybody everybody's snapshots. Verbs that do not read the kernel drop them first, and capture
// keeps them only while it reads. A process that got nothing from its file (AT_SECURE is 0) keeps
// what its user has.
//
// setuid executables are not supported. Other threads keep what they have: they open nothing that
// the user names.

#pragma once

#include <functional>
#include <string>

#include "core/base/result.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/file_kind.hpp"

namespace ctprof::cli {

// Drops them for good.
Result<void> drop_privileges();

// Runs `activity` without them, and returns what it returns.
Result<void> without_privileges(const std::function<Result<void>()>& activity);

// What -o names, or standard output.
struct Target {
  Destination destination;
  bool is_stdout;
  std::string name;  // as reported
};

// What a second interrupt loses (set_interrupt_loss): before the file is written, and meanwhile,
// when it may have its name already. "nothing was written to 'run.ctprof.zst'"
std::string unwritten(const Target& target);
std::string half_written(const Target& target);

// Finds it before the work that would be lost otherwise, with the user's own rights: whoever starts
// a ctprof with capabilities writes only where they may themselves. Fails where -o is missing,
// names the terminal, cannot be written, or is another kind of file, unless --force was said.
Result<Target> target_of(const Options& options, const FileKind& kind = kSnapshotFile);

// The same in two steps, for whoever has better to do between them: a place that can be written,
// and whether what is there may be replaced, for which it is unpacked.
Result<Target> open_target(const Options& options);
Result<void> check_replaced(const Target& target, const Options& options,
                            const FileKind& kind = kSnapshotFile);

}  // namespace ctprof::cli
