#include "core/registry/identity.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace ctprof {
namespace {

MetricDef make_identity_metric(std::string_view name, Entity entity, std::string_view newtype,
                               std::string_view source, std::string_view file_path,
                               std::string_view file_absent, std::string_view description,
                               std::string_view caveat) {
  MetricDef def;
  def.name = name;
  def.entity = entity;
  def.storage = newtype == "IdText" ? Storage::String
                : newtype == "Flag" ? Storage::Bool
                                    : Storage::U64;
  def.newtype = newtype;
  def.rule = newtype == "Flag" ? "AnyFlag" : "Key";
  if (newtype == "Flag") def.reduction = "mode";
  def.unit = newtype == "IdText" ? "text" : name == kStartTime ? "ticks" : "none";
  def.family = "identity";
  def.section = entity == Entity::Process  ? "smaps-rollup"
                : entity == Entity::Cgroup ? "cgroup-stats"
                                           : "primary";
  def.applies_to = "all";
  def.source = source;
  def.file_path = file_path;
  def.file_absent = file_absent;
  def.description = description;
  def.caveat = caveat;
  def.plugin = "core";
  return def;
}

MetricDef make_thread_count_metric() {
  MetricDef def = make_identity_metric(
      kThreadCount, Entity::Thread, "MonotonicCount", "one per listed thread", "none", "omit",
      "Number of threads in the group; a difference shows that threads started or exited.",
      "A current number, not a counter, in spite of its newtype: it can decrease, and has no rate; "
      "threads that exited between listing and reading still count.");
  def.rule = "SumCount";
  def.unit = "count";
  def.family = "gauge";
  return def;
}

std::vector<MetricDef> make_thread_identity_metrics() {
  using E = Entity;
  return {
      make_identity_metric(kTid, E::Thread, "IdU32", "/proc/<tgid>/task/<tid>/ (directory name)",
                           "threads[].tid", "0",
                           "Id of the thread in the PID namespace of the capture.",
                           "Reused after exit: only the id and the start time together identify a "
                           "thread. In a container it is the id in the container's PID namespace."),
      make_identity_metric(
          kTgid, E::Thread, "IdU32", "/proc/<tgid> (directory name)", "threads[].tgid", "0",
          "Id of the process the thread belongs to, equal to the tid of its leader.",
          "The leader can be a zombie while other threads of the process still run."),
      make_identity_metric(
          kPcomm, E::Thread, "IdText", "/proc/<tgid>/comm", "threads[].pcomm", "\"\"",
          "Process name: the current name of the process's leader thread.",
          "Raw bytes: may hold newlines, parentheses or invalid UTF-8; at most 15 bytes for user "
          "threads; changes on exec or "
          "prctl."),
      make_identity_metric(
          kComm, E::Thread, "IdText", "/proc/<tgid>/task/<tid>/comm", "threads[].comm", "\"\"",
          "Name of this thread.",
          "Raw bytes, freely chosen by the thread; the name of a workqueue worker does not include "
          "its current work."),
      make_identity_metric(
          kCgroup, E::Thread, "IdText", "/proc/<tgid>/task/<tid>/cgroup:0::", "threads[].cgroup",
          "\"\"", "Path of the thread's cgroup in the unified (v2) hierarchy.",
          "As seen from the capturing process's cgroup namespace: can start with /.. , can end in "
          "' (deleted)', and does not "
          "join "
          "across namespaces."),
      make_identity_metric(
          kStartTime, E::Thread, "IdU64", "/proc/<tgid>/task/<tid>/stat:field 22",
          "threads[].start_time_clock_ticks", "0",
          "When the thread was created, in USER_HZ ticks after boot; with the tid it identifies "
          "one thread uniquely within one boot.",
          "Counts from boot, so not comparable across reboots; shifted inside a time namespace; "
          "resolution 10 ms."),
      make_identity_metric(kParent, E::Thread, "IdU32", "/proc/<tgid>/task/<tid>/stat:field 4",
                           "threads[].parent", "omit", "Id of the parent of the thread's process.",
                           "If the parent exits, another process becomes the parent; 0 for "
                           "processes that the kernel created."),
      make_identity_metric(kKernelThread, E::Thread, "Flag", "/proc/<tgid>/task/<tid>/stat:field 9",
                           "threads[].kernel_thread", "omit",
                           "Whether the thread is a kernel thread.",
                           "Kernel threads have no user address space."),
      make_identity_metric(
          kDescendant, E::Thread, "Flag", "forks since the command of the window began",
          "threads[].descendant", "omit",
          "Whether the thread belongs to the recorded command or to one of its descendants.",
          "Only in windows with a command; if the kernel does not report forks, derived from the "
          "parents at the window's end."),
      make_identity_metric(
          kThreads, E::Thread, "IdU64", "one per exited thread", "threads[].threads", "omit",
          "Number of threads that the row represents.",
          "Only in windows in which so many threads exited that rows were merged."),
  };
}

std::vector<MetricDef> make_process_and_cgroup_identity_metrics() {
  using E = Entity;
  return {
      make_identity_metric(kProcessTgid, E::Process, "IdU32", "/proc/<tgid> (directory name)",
                           "none", "omit", "Id of the process, key of the process table.",
                           "In the file it is the tgid of the leader's row."),
      make_identity_metric(kProcessPcomm, E::Process, "IdText", "/proc/<tgid>/comm", "none", "omit",
                           "Name of the process, as on its threads' rows.",
                           "In the file it is the pcomm of the leader's row."),
      make_identity_metric(kCgroupPath, E::Cgroup, "IdText",
                           "distinct values of cgroup over all threads, and their ancestors",
                           "cgroup_stats[] (object key)", "\"\"",
                           "Path of the cgroup, key of the cgroup table.",
                           "Relative to the capturing process's cgroup namespace."),
      make_identity_metric(
          kCgroupId, E::Cgroup, "IdU64", "inode of the cgroup's directory", "cgroup_stats[].id",
          "omit",
          "Number that the kernel assigned when the cgroup was created; a cgroup that is removed "
          "and created again gets a new number.",
          "Only in captures that list all cgroups, including those without threads."),
  };
}

}  // namespace

const std::vector<MetricDef>& identity_metrics() {
  static const std::vector<MetricDef> metrics = [] {
    std::vector<MetricDef> all = make_thread_identity_metrics();
    all.push_back(make_thread_count_metric());
    std::ranges::move(make_process_and_cgroup_identity_metrics(), std::back_inserter(all));
    return all;
  }();
  return metrics;
}

const MetricDef& identity_metric(std::string_view name) {
  const auto& all = identity_metrics();
  return *std::find_if(all.begin(), all.end(),
                       [&](const MetricDef& def) { return def.name == name; });
}

}  // namespace ctprof
