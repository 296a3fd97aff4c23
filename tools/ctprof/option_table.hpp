// The table of all options. What is not in it is no option.
//
// Not here: their form and their values (options.hpp), what they do (the verbs).

#pragma once

#include <array>
#include <string_view>

namespace ctprof::cli {

// Of options that every verb takes.
inline constexpr std::string_view kEvery =
    "capture,record,live,show,compare,noise,report,flame,symbolize,export,metric-list,plugins,"
    "doctor,config,completion,version,"
    "help";

// `verbs` are those that take it; `value` is what stands for the value in help; null: a switch.
struct OptionInfo {
  const char* name;  // "long,s"
  const char* value;
  std::string_view verbs;
  const char* help;
};

// "output" of "output,o".
constexpr std::string_view long_name(const OptionInfo& option) {
  const std::string_view name = option.name;
  return name.substr(0, name.find(','));
}

inline constexpr std::array kOptions{
    OptionInfo{
        "output,o", "FILE", "capture,record,report,flame,symbolize,export",
        "where to write what the verb makes; only you can read a new file (0600); - is standard "
        "output; of "
        "symbolize the file itself by default"},
    OptionInfo{"duration,d", "TIME", "record",
               "record for so long: 10s, 500ms, 2m; default: until Ctrl-C, or until COMMAND ends"},
    OptionInfo{"repeat", "N", "record",
               "record N times, back to back, each into a file of its own in the new or empty "
               "directory that -o names"},
    OptionInfo{
        "every", "TIME", "record",
        "go on for good, or for --duration: windows of that length (60s), back to back, into "
        "files by the hour in the directory that -o names; --since finds them there"},
    OptionInfo{"keep", "TIME", "record",
               "with --every: drop files with windows older than that; 7d by default"},
    OptionInfo{"max-size", "SIZE", "record",
               "with --every: drop the oldest files where all take more; 2G by default; wins over "
               "--keep"},
    OptionInfo{"dry-run", nullptr, "record",
               "with --every: only say what would be kept and dropped, by the windows that are "
               "there, else by one that is recorded for it"},
    OptionInfo{"interleave", "CMD_A CMD_B", "record",
               "of two conditions in turns: --repeat pairs of runs, in random order, each command "
               "run (by sh) before a run of its side, into a and b of the directory; compare them "
               "with `ctprof compare DIR`"},
    OptionInfo{"history", "SIZE", "live",
               "how much memory the last windows may take, from 1M to 16G, 128M by default; ten "
               "minutes at most are kept"},
    OptionInfo{"recorders", "NAME,...", "record,live", "also record call stacks, as on-cpu does"},
    OptionInfo{"freq", "HZ", "record,live",
               "samples a second on each CPU, 99 by default, at most 4000"},
    OptionInfo{"sleepers-freq", "HZ", "record,live",
               "looks a second at all who sleep, 9 by default, at most 250"},
    OptionInfo{"offcpu-period", "TIME", "record,live",
               "a stack for so much waiting, on average: 100us, 1ms (default), 10ms"},
    OptionInfo{"offcpu-stacks", "blocked|all|every", "record,live",
               "stacks of blocked threads (default), of all that wait, or one at each switch"},
    OptionInfo{"budget", "PERCENT", "record,live",
               "what recorders may cost, of all CPUs: 1%; they become slower before that"},
    OptionInfo{"max-depth", "N", "record,live",
               "keep at most N frames of a stack, nearest to the leaf, from 1 to 1024; default: "
               "127; with --unwind fp on-cpu has at most kernel.perf_event_max_stack"},
    OptionInfo{"unwind", "cfi|fp", "record,live",
               "user stacks by copies that ctprof unwinds (default), or by frame pointers"},
    OptionInfo{"stack-bytes", "SIZE", "record,live",
               "how much of a stack to copy; default: 32K up to 250 Hz, above that 8K"},
    OptionInfo{"ring", "SIZE", "record,live",
               "the kernel's buffer for each CPU; default: 8M, from 1000 Hz on 32M"},
    OptionInfo{
        "debug-dir", "DIR", "record,live,symbolize",
        "take names of functions also from here: DIR/.build-id/ab/cdef.debug is what was "
        "stripped from the file of build id abcdef (also DIR/abcdef/debuginfo); before "
        "/usr/lib/debug; may be repeated. symbolize: also DIR/perf-PID.map and jit-PID.dump"},
    OptionInfo{"debuginfod", nullptr, "symbolize",
               "get files that are missing here from the servers that $DEBUGINFOD_URLS names"},
    OptionInfo{"inlines", nullptr, "record,live,symbolize",
               "functions that a compiler put into others as frames of their own, where debug "
               "information tells them"},
    OptionInfo{"stacks", nullptr, "capture",
               "also look once at all who sleep: what everybody waits for, by call stack"},
    OptionInfo{"level", "fast|full", "capture,record",
               "also metrics that cost much to read, such as process.smaps_rollup and heaps: full "
               "(default of capture), or fast (of record), which has them only if --metrics names "
               "them"},
    OptionInfo{"layout", "rows|columns", "capture",
               "rows (default), which the reference's tools read too, or columns: smaller, faster"},
    OptionInfo{
        "to", "FORM", "export",
        "ktstr: rows, for the reference's tools; columns: as ctprof reads them best; tables: "
        "ndjson, csv, parquet; of groups prometheus; of call stacks folded, pprof, speedscope, "
        "perfetto; of waits denet"},
    OptionInfo{
        "rows", "KIND,...", "export",
        "of tables: threads, cgroups, processes, host, and long: a row for each figure rather "
        "than for each of them; ndjson threads,cgroups by default, csv and parquet one kind, "
        "threads"},
    OptionInfo{"max-series", "N", "export",
               "of prometheus: at most so many series, of the heaviest groups; 5000 by default; 0: "
               "any number"},
    OptionInfo{
        "listen", "PORT", "export",
        "of prometheus: no file, but this host, whenever /metrics is asked for at PORT or "
        "ADDR:PORT, a loopback address (127.0.0.1 by default), or at the Unix socket unix:PATH, "
        "which only its user can open, until Ctrl-C"},
    OptionInfo{"token-file", "FILE", "export",
               "with --listen: answer only requests with the token in this file, sent as "
               "'Authorization: Bearer TOKEN'; 16 characters or more, readable only by its user"},
    OptionInfo{"public", nullptr, "export",
               "with --listen: let every user of this host ask, although ctprof runs as root or "
               "has capabilities"},
    OptionInfo{"csv-safe", nullptr, "show,compare,export",
               "in CSV for spreadsheets: put ' before texts that these would take for a formula, "
               "such as =1+1"},
    OptionInfo{"redact", nullptr, "export",
               "before a file is given away: stable pseudonyms for names, paths, command lines, "
               "functions and the host; figures stay; without --to as columns"},
    OptionInfo{
        "redact-key", "FILE", "export",
        "make them by what is in this file, 16 bytes or more, so that files with one key can "
        "be compared; else by a key that nobody keeps"},
    OptionInfo{"metric", "NAME", "flame,export",
               "these call stacks; by default all that there are, of flame the first"},
    OptionInfo{"icicle", nullptr, "flame", "callers above what they call"},
    OptionInfo{"pid,p", "PID,...", "capture,record,live",
               "only these processes; of record and live also processes that they fork meanwhile"},
    OptionInfo{"no-inherit", nullptr, "record,live",
               "with --pid: leave out processes that these fork meanwhile"},
    OptionInfo{"cgroup", "PATH", "capture,record,live",
               "only processes in this cgroup or below it, as /a.slice/b.service"},
    OptionInfo{"jobs,j", "N", "capture,record,live,symbolize,export",
               "workers; default: what the host can spare"},
    OptionInfo{"no-sync", nullptr, "capture,record,report,flame,symbolize,export",
               "do not wait for the disk"},
    OptionInfo{"force", nullptr, "capture,record,report,flame,symbolize,export",
               "replace what -o names even if it is another kind of file"},
    OptionInfo{"no-hostname", nullptr, "capture,record,live",
               "leave the host's name out of the file"},
    OptionInfo{"strict", nullptr, "capture,record,plugins",
               "exit with status 3, and one sentence, if something could not be had: a plugin, a "
               "metric that was named or needs more rights, threads, records; the file is written "
               "anyway"},
    OptionInfo{"verbose,v", nullptr, kEvery,
               "also name the plugins and files that are read; of capture and record the processes "
               "and metrics that could not be"},
    OptionInfo{"metrics", "NAME,...", "capture,record,show,compare,report,export",
               "only these metrics; of show and compare also METRIC[KEY], one key of a map (if the "
               "key has brackets or quotes: METRIC[\"KEY\"], where \\\" is a quote)"},
    OptionInfo{"sections", "NAME,...", "show,compare,report",
               "only these sections; metric-list names them; stacks: functions and stacks alone"},
    OptionInfo{"group-by", "KEY", "show,compare,noise,report,flame,export",
               "pcomm (process name, the default), cgroup, comm (thread name), comm-exact, all, "
               "pid (each process), or the name of a text metric of processes; of flame and export "
               "pcomm (and comm below it), comm, pid, cgroup, all"},
    OptionInfo{"no-thread-normalize", nullptr, "live,show,compare,report,export",
               "keep names of processes and threads as they are; metrics of processes are of each, "
               "as NAME[PID]"},
    OptionInfo{"no-cg-normalize", nullptr, "live,show,compare,report,export",
               "keep cgroup paths as they are"},
    OptionInfo{"cgroup-flatten", "GLOB", "show,compare,report,export",
               "merge cgroups matching GLOB; ** crosses slashes; may be repeated"},
    OptionInfo{"where", "EXPR", "show,compare,noise,report",
               "keep threads (or groups) for which EXPR is true: pcomm =~ \"^nginx\" && nice < 0, "
               "cgroup under \"/a.slice\"; of groups: threads >= 8 && cpu_efficiency < 0.5; may be "
               "repeated"},
    OptionInfo{"derive", "NAME=EXPR", "show,compare,report",
               "a metric of your own: 'ns_per_csw = run_time_ns / voluntary_csw'; a ratio is a "
               "level, a sum of counters counts up; may be repeated"},
    OptionInfo{"fail-on", "EXPR", "show,compare",
               "exit with status 1 and name the rows for which EXPR is true: run_time_ns.pct > 10 "
               "&& group =~ \"web\"; METRIC.pct, .delta, .baseline, .candidate, group, threads; of "
               "what is shown METRIC alone; of sums of equal parts only; may be repeated"},
    OptionInfo{"alpha", "P", "compare,noise,report,flame",
               "between sides of several runs, what differs is proven if its p is at most that: "
               "0.05 by default; --fail-on has METRIC.p, .shift, .low, .high there"},
    OptionInfo{"min-shift", "PERCENT", "compare,report,flame",
               "only a difference whose whole interval reaches PERCENT, such as 5%, is proven; 0 "
               "by default"},
    OptionInfo{
        "sort-by", "KEY,...", "show,compare",
        "a column of the first screen as it is printed (%wait, threads), or, of tables, movers "
        "(default), delta, pct, name or METRIC; the largest first, -KEY or KEY:asc reverses"},
    OptionInfo{"lifetime", nullptr, "show,compare,report",
               "lifetimes, as the reference compares them; of a window those at its end"},
    OptionInfo{"vs", "FILE", "compare,report,flame",
               "begins the next side: compare A1 A2 --vs B1 B2"},
    OptionInfo{
        "since", "WHEN", "show,compare,report,flame,export",
        "of a directory that record --every fills: what happened since then: 10 min ago, "
        "15:00, yesterday 15:00, 2026-11-23 15:00; of several sides the n-th is for the n-th"},
    OptionInfo{"until", "WHEN", "show,compare,report,flame,export",
               "the same: what happened until then; windows that have a part in it count whole"},
    OptionInfo{"rate", nullptr, "compare", "also deltas per second, of what counts up"},
    OptionInfo{"limit", "N", "show,compare,noise,report",
               "rows, of --details lines per section; by default a screen, or 500 lines; 0: all"},
    OptionInfo{"display-format", "FORMAT", "compare",
               "columns: arrow (default), full, delta-only, no-pct or pct-only"},
    OptionInfo{
        "columns", "NAME,...", "show,compare",
        "exactly these: group, threads, metric, tags, uptime, runs, readings; of show value, "
        "of compare baseline, candidate, arrow, delta, %, shift, p, rate, of-which, life"},
    OptionInfo{"details", nullptr, "show,compare,report",
               "of windows every metric of every group, as of snapshots, rather than one screen"},
    OptionInfo{"wrap", nullptr, "show,compare",
               "on a terminal, break long cells into lines rather than shorten them"},
    OptionInfo{"format", "text|json|csv", kEvery,
               "for people or for programs; csv only for show and compare"},
    OptionInfo{"json-schema", nullptr,
               "capture,show,compare,noise,metric-list,plugins,doctor,config,help",
               "print the schema of what --format json prints, and exit"},
    OptionInfo{"color", "auto|always|never", kEvery,
               "colours on a terminal; NO_COLOR is respected"},
    OptionInfo{"no-pager", nullptr, kEvery,
               "print long text as it is, also on a terminal; else CTPROF_PAGER or PAGER shows it, "
               "or less"},
    OptionInfo{"plugins", "NAME,...",
               "capture,record,live,show,compare,report,metric-list,plugins,doctor,help",
               "exactly these plugins, or only what they filled"},
    OptionInfo{"plugin-path", "DIR",
               "capture,record,live,show,compare,report,metric-list,plugins,doctor,help",
               "look for plugins here too; may be repeated"},
    OptionInfo{"set", "PLUGIN.KEY=VALUE", "capture,record,live,plugins,doctor",
               "set an option of a plugin; `ctprof plugins` lists them; may be repeated"},
    OptionInfo{"rootfs", "DIR", "capture,plugins,doctor",
               "take /proc, /sys and cgroup from under this directory"},
    OptionInfo{"quiet,q", nullptr, kEvery, "only errors"},
    OptionInfo{"build", nullptr, "version",
               "also what it was built with: compiler, options, kernel headers, libbpf, libraries, "
               "plugins"},
    OptionInfo{"version,V", nullptr, "", "the version, as the verb of that name prints it"},
    OptionInfo{"help,h", nullptr, kEvery, "this text"},
};

}  // namespace ctprof::cli
