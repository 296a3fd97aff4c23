#include "tools/ctprof/commands/tree_files.hpp"

#include <array>
#include <utility>

namespace ctprof::cli {
namespace {

// How the source of a metric begins, longer texts first.
constexpr std::array<std::pair<std::string_view, TreePlace>, 6> kBeginnings{{
    {"/proc/<tgid>/task/<tid>/", TreePlace::Thread},
    {"/proc/<tgid>/", TreePlace::Process},
    {"/proc/", TreePlace::Proc},
    {"/sys/", TreePlace::Sys},
    {"<cgroup>/", TreePlace::Cgroup},
    {"<cgroup-v1>/", TreePlace::CgroupV1},
}};

// Files that ctprof reads itself: identities, the host, and switches that explain gaps.
constexpr std::array<std::pair<TreePlace, std::string_view>, 24> kOwnFiles{{
    {TreePlace::Thread, "cgroup"},
    {TreePlace::Thread, "comm"},
    {TreePlace::Thread, "stat"},
    {TreePlace::Thread, "status"},
    {TreePlace::Process, "cgroup"},
    {TreePlace::Process, "comm"},
    {TreePlace::Process, "stat"},
    {TreePlace::Process, "status"},
    {TreePlace::Cgroup, "cgroup.controllers"},
    {TreePlace::Cgroup, "cgroup.pressure"},
    {TreePlace::Cgroup, "cgroup.type"},
    {TreePlace::Proc, "cmdline"},
    {TreePlace::Proc, "cpuinfo"},
    {TreePlace::Proc, "loadavg"},
    {TreePlace::Proc, "meminfo"},
    {TreePlace::Proc, "stat"},
    {TreePlace::Proc, "sys/kernel/osrelease"},
    {TreePlace::Proc, "sys/kernel/ostype"},
    {TreePlace::Proc, "sys/kernel/random/boot_id"},
    {TreePlace::Proc, "sys/kernel/sched_schedstats"},
    {TreePlace::Proc, "sys/kernel/task_delayacct"},
    {TreePlace::Proc, "uptime"},
    {TreePlace::Proc, "version"},
    {TreePlace::Sys, "kernel/mm/transparent_hugepage/enabled"},
}};

// A name with one of these characters is a pattern or prose.
constexpr std::string_view kNotInPaths = "<>*[]\"'";
// These end the path: "status:Threads", "statm field 2".
constexpr std::string_view kEnds = ":;, (";

}  // namespace

std::optional<TreeFile> parse_metric_source(Entity entity, std::string_view source) {
  std::optional<TreePlace> place;
  for (const auto& [beginning, where] : kBeginnings)
    if (const std::size_t at = source.find(beginning); !place && at != source.npos) {
      source.remove_prefix(at + beginning.size());
      place = where;
    }
  const std::string_view path = source.substr(0, source.find_first_of(kEnds));
  // A source of cgroups may name a file without its directory; otherwise it is a sentence.
  if (!place && entity == Entity::Cgroup && !source.substr(path.size()).starts_with(' '))
    place = TreePlace::Cgroup;
  if (!place || path.empty() || path.ends_with('/') || path.starts_with('/') ||
      path.find("..") != path.npos || path.find_first_of(kNotInPaths) != path.npos)
    return std::nullopt;
  return TreeFile{*place, std::string(path)};
}

TreeFiles list_tree_files(const Registry& registry) {
  TreeFiles files;
  for (const auto& [place, path] : kOwnFiles) files[place].emplace(path);
  for (const MetricDef& metric : registry.vocabulary().metrics)
    if (const auto file = parse_metric_source(metric.entity, metric.source))
      files[file->place].insert(file->path);
  return files;
}

}  // namespace ctprof::cli
