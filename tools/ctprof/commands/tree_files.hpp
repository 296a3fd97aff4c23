// The kernel files that a capture reads, from the definitions of metrics: each metric names its
// source, such as "/proc/<tgid>/task/<tid>/status:Threads".
//
// See also: record_tree.cc, which copies these files.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/registry/registry.hpp"

namespace ctprof::cli {

// The directory of a file: of each thread, process, cgroup or v1 cgroup, or /proc or /sys itself.
enum class TreePlace { Thread, Process, Cgroup, CgroupV1, Proc, Sys };

struct TreeFile {
  TreePlace place;
  std::string path;  // in the directory
  bool operator==(const TreeFile&) const = default;
};

// Returns the file that a metric's source names; none if it names no file.
std::optional<TreeFile> parse_metric_source(Entity entity, std::string_view source);

using TreeFiles = std::map<TreePlace, std::set<std::string>>;

// Returns the files of all offered metrics, and those that ctprof itself reads.
TreeFiles list_tree_files(const Registry& registry);

}  // namespace ctprof::cli
