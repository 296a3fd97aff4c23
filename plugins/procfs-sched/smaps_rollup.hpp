// The memory of a process, from two files:
//
// /proc/<tgid>/smaps_rollup: by kind, lines `Key:   number kB` under a line with the address range.
// Costly to read: the kernel walks all page tables. It needs CONFIG_PROC_PAGE_MONITOR and the right
// to ptrace the target. A process without memory (a kernel thread, a zombie) fails to open it.
//
// /proc/<tgid>/statm: its size and what of it is resident, "size resident ...", in pages. Cheap,
// and open to everybody. All are zero where there is no memory.
//
// A main thread that has exited has no memory although others of its process live. Then the files
// are those of another thread, /proc/<tgid>/task/<tid>/.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

using SmapsRollupField = sdk::Fields<vocabulary::process_smaps_rollup>;

// Entries are views into `text`, and in KiB. False when a line is malformed, or none is a size.
bool parse_smaps_rollup(std::string_view text, std::vector<ctprof_entry>& entries);

// Reads the file of a process, or tells why there is none. One per worker; what it returns is valid
// until the next call.
class SmapsRollup {
 public:
  explicit SmapsRollup(const sdk::Host& host) : host_(host) {}
  sdk::Reading<sdk::Entries> of_process(std::uint64_t tgid);

 private:
  sdk::Reading<std::string_view> read(const std::string& directory, const char* name);
  Gap why_missing(const std::string& process, Gap gap);

  sdk::Host host_;
  sdk::TextFile file_;
  std::vector<ctprof_entry> entries_;
};

using ResidentField = sdk::Fields<vocabulary::rss_bytes>;

// What is resident, in bytes of pages of that size; NotApplicable where there is no memory.
sdk::ReadingOf<sdk::GaugeBytes> parse_statm(std::string_view text, std::uint64_t page);

// The same of a process. One per worker.
class Resident {
 public:
  explicit Resident(const sdk::Host& host);
  sdk::ReadingOf<sdk::GaugeBytes> of_process(std::uint64_t tgid);

 private:
  sdk::ReadingOf<sdk::GaugeBytes> read(const std::string& directory);

  sdk::Host host_;
  std::uint64_t page_;
  sdk::TextFile file_;
};

}  // namespace ctprof::procfs
