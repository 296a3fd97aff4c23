// /proc/<tgid>/task/<tid>/io: seven lines `key: number`, bytes and calls.
//
// The file needs CONFIG_TASK_IO_ACCOUNTING, and the right to ptrace the target: CAP_SYS_PTRACE for
// other users' threads, and CAP_DAC_READ_SEARCH as well, since its mode is 0400. Outside task/ it
// is a sum over the process. A line that is missing or no number is Malformed.

#pragma once

#include <string_view>

#include "ctprof/host.hpp"
#include "ctprof/text_table.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

struct IoFile
    : sdk::KeyedText<
          ':', sdk::KeyLine<vocabulary::rchar, "rchar">, sdk::KeyLine<vocabulary::wchar, "wchar">,
          sdk::KeyLine<vocabulary::syscr, "syscr">, sdk::KeyLine<vocabulary::syscw, "syscw">,
          sdk::KeyLine<vocabulary::read_bytes, "read_bytes">,
          sdk::KeyLine<vocabulary::write_bytes, "write_bytes">,
          sdk::KeyLine<vocabulary::cancelled_write_bytes, "cancelled_write_bytes">> {
  using KeyedText::KeyedText;
  static constexpr const char* kName = "io";
  static constexpr Tally kFailures = Tally::Io;
  void fill(const sdk::Thread& thread, std::string_view text) { put(thread.row, parse(text)); }
};

}  // namespace ctprof::procfs
