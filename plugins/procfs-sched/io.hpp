// /proc/<tgid>/task/<tid>/io: seven lines `key: number`, bytes and calls.
//
// The file needs CONFIG_TASK_IO_ACCOUNTING, and the right to ptrace the target: CAP_SYS_PTRACE for
// other users' threads, and CAP_DAC_READ_SEARCH as well, since its mode is 0400. Outside task/ it
// is a sum over the process.

#pragma once

#include <string_view>

#include "ctprof/batch.hpp"
#include "plugins/procfs-sched/summary.hpp"
#include "plugins/shared/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

// A line that is missing or no number is Malformed.
struct Io {
  sdk::Reading<std::uint64_t> rchar = Gap::Malformed;
  sdk::Reading<std::uint64_t> wchar = Gap::Malformed;
  sdk::Reading<std::uint64_t> syscr = Gap::Malformed;
  sdk::Reading<std::uint64_t> syscw = Gap::Malformed;
  sdk::Reading<std::uint64_t> read_bytes = Gap::Malformed;
  sdk::Reading<std::uint64_t> write_bytes = Gap::Malformed;
  sdk::Reading<std::uint64_t> cancelled_write_bytes = Gap::Malformed;
};

Io parse_io(std::string_view text);

struct IoFile
    : Fields<vocabulary::rchar, vocabulary::wchar, vocabulary::syscr, vocabulary::syscw,
             vocabulary::read_bytes, vocabulary::write_bytes, vocabulary::cancelled_write_bytes> {
  using Fields::Fields;
  static constexpr const char* kName = "io";
  static constexpr Tally kFailures = Tally::Io;
  void fill(const sdk::Thread& thread, std::string_view text);
};

}  // namespace ctprof::procfs
