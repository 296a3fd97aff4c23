// Parses any bytes as a file of a cgroup, as a path to one, as a mountinfo, and as the lines of v1
// hierarchies. Checks that keys are views into the text, and that no path contains "..".

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/cgroup/formats.hpp"
#include "plugins/cgroupfs/path.hpp"
#include "plugins/cgroupfs/v1_lines.hpp"
#include "plugins/shared/text_formats.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_entries(ctprof::sdk::Entries entries, std::string_view text) {
  for (const ctprof_entry& entry : entries)
    require(entry.key.size > 0 && entry.key.data >= text.data() &&
            entry.key.data + entry.key.size <= text.data() + text.size());
}

void check_formats(std::string_view text) {
  std::vector<ctprof_entry> entries;
  if (ctprof::parse_flat_keyed(text, entries)) check_entries(entries, text);
  require(!ctprof::find_flat_value(text, "usage_usec") || text.find("usage_usec ") != text.npos);
  ctprof::cgroup::IoStat io;
  ctprof::cgroup::parse_io_stat(text, io);
  for (const auto key : {io.Rbytes, io.Wbytes, io.Rios, io.Wios, io.Dbytes, io.Dios})
    check_entries(io[key].value, text);
  const auto limit = ctprof::cgroup::parse_limit(text);
  require(!limit || limit.value != ctprof::cgroup::kNoLimit || text.find("max") != text.npos ||
          text.find("18446744073709551615") != text.npos);
  ctprof::cgroup::parse_cpu_max(text);
}

// The first line is the root of the mount, the second the branch, and the rest the path.
void check_paths(std::string_view path) {
  const std::string_view root = ctprof::sdk::take(path, '\n');
  const std::string_view branch = ctprof::sdk::take(path, '\n');
  const auto place = ctprof::cgroupfs::path_below_mount(root, path, branch);
  if (!place) return;
  require(!place.value.empty() && place.value.front() != '/');
  for (std::string_view rest = place.value; !rest.empty();)
    require(ctprof::sdk::take(rest, '/') != "..");
}

void check_v1_line(std::string_view text) {
  const auto line = ctprof::cgroupfs::find_v1_line(text, "cpu");
  if (!line) return;
  require(line->controllers.find_first_of(":\n") == line->controllers.npos);
  require(line->path.find('\n') == line->path.npos);
  require(text.find(std::string(line->controllers) + ":") != text.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_formats(text);
  check_paths(text);
  check_v1_line(text);
  require(ctprof::cgroupfs::root_of_mount(text, "41").size() <= size);
  return 0;
}
