// Reads the memory of a process from two files:
//
// /proc/<tgid>/smaps_rollup: sizes by kind, lines `Key:   number kB` below a line with the address
// range. Expensive to read: the kernel walks all page tables. It needs CONFIG_PROC_PAGE_MONITOR and
// permission to ptrace the target. Opening it fails for a process without memory (a kernel thread,
// a zombie).
//
// /proc/<tgid>/statm: size and resident size, "size resident ...", in pages. Cheap, and readable by
// everyone. All values are zero if the process has no memory.
//
// An exited main thread has no memory, even if other threads of its process are alive. Then the
// files of another thread are read, /proc/<tgid>/task/<tid>/.

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

// Parses entries as views into `text`, in KiB. Returns false if a line is malformed, or none is a
// size.
bool parse_smaps_rollup(std::string_view text, std::vector<ctprof_entry>& entries);

// Reads the file of a process, or determines its gap. Each worker has one object; a result is valid
// until the next call.
class SmapsRollup {
 public:
  explicit SmapsRollup(const sdk::Host& host) : host_(host) {}
  sdk::Reading<sdk::Entries> read_process(std::uint64_t tgid);

 private:
  sdk::Reading<std::string_view> read(const std::string& directory, const char* name);
  Gap gap_of_missing_file(const std::string& process, Gap gap);

  sdk::Host host_;
  sdk::TextFile file_;
  std::vector<ctprof_entry> entries_;
};

using ResidentField = sdk::Fields<vocabulary::rss_bytes>;

// Returns the resident size in bytes, for pages of `page_size` bytes; NotApplicable if there is no
// memory.
sdk::ReadingOf<sdk::GaugeBytes> parse_statm(std::string_view text, std::uint64_t page_size);

// Reads the resident size of a process. Each worker has one object.
class ResidentMemory {
 public:
  explicit ResidentMemory(const sdk::Host& host);
  sdk::ReadingOf<sdk::GaugeBytes> read_process(std::uint64_t tgid);

 private:
  sdk::ReadingOf<sdk::GaugeBytes> read(const std::string& directory);

  sdk::Host host_;
  std::uint64_t page_size_;
  sdk::TextFile file_;
};

}  // namespace ctprof::procfs
