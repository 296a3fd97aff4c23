// Ends the processes that a checked plugin starts, also those that leave their group and session,
// or whose parents exit.
//
//   adopt_orphans();
//   ...                                           // start `child`, which loads the plugin
//   const bool is_complete = end_children(child, status);
//
// Threads: only in a process with one thread.

#pragma once

#include <sys/types.h>

namespace ctprof::cli {

// Makes processes whose parent exits children of this process, instead of those of init.
void adopt_orphans();

// Kills all children of this process, and those that become its children because of that. Stores
// the exit status of `child` if that was one of them. Returns false if some remain: a process that
// waits for a file system cannot be killed, and this process may not kill one of another user.
bool end_children(::pid_t child, int& status);

}  // namespace ctprof::cli
