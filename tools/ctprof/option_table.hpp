// The table of all options. What is not in it is no option.
//
// Not here: their form and their values (options.hpp), what they do (the verbs).

#pragma once

#include <array>
#include <string_view>

namespace ctprof::cli {

// Of options that every verb takes.
inline constexpr std::string_view kEvery =
    "capture,record,show,compare,flame,export,metric-list,plugins,doctor,version,help";

// `verbs` are those that take it; `value` is what stands for the value in help; null: a switch.
struct OptionInfo {
  const char* name;  // "long,s"
  const char* value;
  std::string_view verbs;
  const char* help;
};
inline constexpr std::array kOptions{
    OptionInfo{
        "output,o", "FILE", "capture,record,flame,export",
        "where to write the snapshot; only you can read a new file (0600); - is standard output"},
    OptionInfo{"duration,d", "TIME", "record",
               "record for so long: 10s, 500ms, 2m; default: until Ctrl-C, or until COMMAND ends"},
    OptionInfo{"repeat", "N", "record",
               "record N times, back to back, each into a file of its own in the new or empty "
               "directory that -o names; costly metrics only if they are named"},
    OptionInfo{"recorders", "NAME,...", "record", "also record call stacks, as on-cpu does"},
    OptionInfo{"freq", "HZ", "record", "samples a second on each CPU, 99 by default, at most 4000"},
    OptionInfo{"max-depth", "N", "record", "the most frames of a stack, 127 by default"},
    OptionInfo{"unwind", "cfi|fp", "record",
               "user stacks by copies that ctprof unwinds (default), or by frame pointers"},
    OptionInfo{"stack-bytes", "SIZE", "record",
               "how much of a stack to copy; default: 32K up to 250 Hz, above that 8K"},
    OptionInfo{"ring", "SIZE", "record",
               "the kernel's buffer for each CPU; default: 8M, from 1000 Hz on 32M"},
    OptionInfo{"layout", "rows|columns", "capture",
               "rows (default), which the reference's tools read too, or columns: smaller, faster"},
    OptionInfo{
        "to", "FORM", "export",
        "ktstr: rows, for the reference's tools; columns: as ctprof reads them best; of call "
        "stacks folded, pprof, speedscope, perfetto"},
    OptionInfo{"metric", "NAME", "flame,export",
               "these call stacks; by default all that there are, of flame the first"},
    OptionInfo{"icicle", nullptr, "flame", "callers above what they call"},
    OptionInfo{"pid,p", "PID,...", "capture,record", "only these processes"},
    OptionInfo{"cgroup", "PATH", "capture,record",
               "only processes in this cgroup or below it, as /a.slice/b.service"},
    OptionInfo{"jobs,j", "N", "capture,record,export", "workers; default: what the host can spare"},
    OptionInfo{"no-sync", nullptr, "capture,record,flame,export", "do not wait for the disk"},
    OptionInfo{"no-hostname", nullptr, "capture,record", "leave the host's name out of the file"},
    OptionInfo{"verbose,v", nullptr, "capture",
               "also name the processes and metrics that could not be read"},
    OptionInfo{"metrics", "NAME,...", "capture,record,show,compare",
               "only these metrics; of show and compare also METRIC[KEY], one key of a map (if the "
               "key has brackets or quotes: METRIC[\"KEY\"], where \\\" is a quote)"},
    OptionInfo{"sections", "NAME,...", "show,compare",
               "only these sections; metric-list names them; stacks: functions and stacks alone"},
    OptionInfo{"group-by", "KEY", "show,compare,flame,export",
               "pcomm (process name, the default), cgroup, comm (thread name), comm-exact, all, "
               "pid (each process), or the name of a text metric of processes; of flame and export "
               "pcomm (and comm below it), comm, pid, cgroup, all"},
    OptionInfo{"no-thread-normalize", nullptr, "show,compare",
               "keep names of processes and threads as they are; metrics of processes are of each, "
               "as NAME[PID]"},
    OptionInfo{"no-cg-normalize", nullptr, "show,compare", "keep cgroup paths as they are"},
    OptionInfo{"cgroup-flatten", "GLOB", "show,compare",
               "merge cgroups matching GLOB; ** crosses slashes; may be repeated"},
    OptionInfo{"where", "EXPR", "show,compare",
               "keep threads (or groups) for which EXPR is true: pcomm =~ \"^nginx\" && nice < 0, "
               "cgroup under \"/a.slice\"; of groups: threads >= 8 && cpu_efficiency < 0.5; may be "
               "repeated"},
    OptionInfo{"derive", "NAME=EXPR", "show,compare",
               "a metric of your own: 'ns_per_csw = run_time_ns / voluntary_csw'; may be repeated"},
    OptionInfo{"fail-on", "EXPR", "show,compare",
               "exit with status 1 and name the rows for which EXPR is true: run_time_ns.pct > 10 "
               "&& group =~ \"web\"; METRIC.pct, .delta, .baseline, .candidate, group, threads; of "
               "what is shown METRIC alone; of sums of equal parts only; may be repeated"},
    OptionInfo{"sort-by", "KEY,...", "show,compare",
               "movers (default), delta, pct, name, or METRIC[:asc|:desc]"},
    OptionInfo{"lifetime", nullptr, "show,compare",
               "lifetimes, as the reference compares them; of a window those at its end"},
    OptionInfo{"vs", "FILE", "compare", "begins the next side: compare A1 A2 --vs B1 B2"},
    OptionInfo{"rate", nullptr, "compare", "also deltas per second, of what counts up"},
    OptionInfo{"limit", "N", "show,compare",
               "rows, of --details lines per section; by default a screen, or 500 lines; 0: all"},
    OptionInfo{"display-format", "FORMAT", "compare",
               "columns: arrow (default), full, delta-only, no-pct or pct-only"},
    OptionInfo{
        "columns", "NAME,...", "show,compare",
        "exactly these: group, threads, metric, tags, uptime, runs, readings; of show value, "
        "of compare baseline, candidate, arrow, delta, %, rate, of-which, life"},
    OptionInfo{"details", nullptr, "show,compare",
               "of windows every metric of every group, as of snapshots, rather than one screen"},
    OptionInfo{"wrap", nullptr, "show,compare",
               "on a terminal, break long cells into lines rather than shorten them"},
    OptionInfo{"format", "text|json|csv", kEvery,
               "for people or for programs; csv only for show and compare"},
    OptionInfo{"json-schema", nullptr, "capture,show,compare,metric-list,plugins,doctor,help",
               "print the schema of what --format json prints, and exit"},
    OptionInfo{"color", "auto|always|never", kEvery,
               "colours on a terminal; NO_COLOR is respected"},
    OptionInfo{"no-pager", nullptr, kEvery,
               "print long text as it is, also on a terminal; else CTPROF_PAGER or PAGER shows it, "
               "or less"},
    OptionInfo{"plugins", "NAME,...", "capture,record,show,compare,metric-list,plugins,doctor,help",
               "exactly these plugins, or only what they filled"},
    OptionInfo{"plugin-path", "DIR", "capture,record,show,compare,metric-list,plugins,doctor,help",
               "look for plugins here too; may be repeated"},
    OptionInfo{"set", "PLUGIN.KEY=VALUE", "capture,record,plugins,doctor",
               "set an option of a plugin; `ctprof plugins` lists them; may be repeated"},
    OptionInfo{"rootfs", "DIR", "capture,plugins,doctor",
               "take /proc, /sys and cgroup from under this directory"},
    OptionInfo{"quiet,q", nullptr, kEvery, "only errors"},
    OptionInfo{"version,V", nullptr, "", "the version, as the verb of that name prints it"},
    OptionInfo{"help,h", nullptr, kEvery, "this text"},
};

}  // namespace ctprof::cli
