// Time off CPUs as denet has it: one sample of its JSON, with the object ebpf.offcpu.

#pragma once

#include "core/base/json_writer.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::cli {

// {"ts_ms":…,"ebpf":{"offcpu":{…}}}: what all threads waited, the ten that waited longest, and each
// thread by "PID:TID"; threads that had one id after the other are one there. Fails where the file
// has no recording of waits.
Result<void> write_denet(const Snapshot& snapshot, Sink& out);

}  // namespace ctprof::cli
