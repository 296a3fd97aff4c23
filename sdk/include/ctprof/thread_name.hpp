// Names of threads as the kernel gives them, for whoever lists threads.
//
// A name is the bytes that prctl(PR_SET_NAME) or exec left, blanks at its ends included: "a" and
// "a " are two names, and a thread may call itself "\t". So nothing is trimmed.

#pragma once

#include <string_view>

namespace ctprof::sdk {

// The name in a file /proc/PID/task/TID/comm, whose text ends with a line end that is the file's.
inline std::string_view name_in_comm(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// The name of a workqueue's worker without what it works on just now, which the kernel appends
// wherever it prints one (wq_worker_comm() in kernel/workqueue.c) and which would make two threads
// of one: "kworker/0:1" of "kworker/0:1-events" and of "kworker/0:1+events". A rescuer's dash is
// its own: "kworker/R-nfsiod" stays.
//
// REQUIRES: the name of a thread with PF_WQ_WORKER (0x20) among its flags, field 9 of its stat;
// any user's thread may call itself "kworker/0:1-mine".
inline std::string_view worker_name(std::string_view name) {
  const auto colon = name.find(':');
  if (!name.starts_with("kworker/") || colon == name.npos) return name;
  return name.substr(0, name.find_first_of("-+", colon));
}

}  // namespace ctprof::sdk
