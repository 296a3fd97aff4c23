// Off-CPU time in the format of denet: one JSON sample with the object ebpf.offcpu.

#pragma once

#include "core/base/json_writer.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// Writes {"ts_ms":…,"ebpf":{"offcpu":{…}}}: the waits of all threads, the ten threads that waited
// longest, and each thread as "PID:TID". Threads that used the same id one after another are
// merged. Fails if the file contains no recording of waits.
Result<void> write_denet(const Snapshot& snapshot, Sink& out);

}  // namespace ctprof::cli
