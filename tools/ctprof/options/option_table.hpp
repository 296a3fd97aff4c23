// The table of all options of all commands.
//
// See also: parsing and values of options (options.hpp), the effects of options (the commands).

#pragma once

#include <array>
#include <string_view>

namespace ctprof::cli {

// Commands of options that every command takes.
inline constexpr std::string_view kAllCommands =
    "capture,record,live,show,compare,noise,report,flame,symbolize,export,metric-list,plugins,"
    "plugin,record-tree,doctor,config,completion,version,"
    "help";

// An option. `commands` lists the commands that take it. `value` names its value in the help; null
// means that the option is a switch.
struct OptionInfo {
  const char* name;  // "long,s"
  const char* value;
  std::string_view commands;
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
        "Write the result to FILE. Only you can read a new file (0600). - is standard "
        "output. Default, in the current directory: of record, the name of the host and the "
        "time; of report and flame, the name of the first FILE with .html or .svg. symbolize "
        "replaces the file itself by default."},
    OptionInfo{"duration,d", "TIME", "record",
               "Record for TIME: 10s, 500ms, 2m. Default: until Ctrl-C, or until COMMAND exits."},
    OptionInfo{"repeat", "N", "record",
               "Record N consecutive windows, each into its own file in the directory that -o "
               "names, which must be new or empty."},
    OptionInfo{
        "every", "TIME", "record",
        "Record consecutive windows of TIME (such as 60s) until stopped or until --duration ends. "
        "Files are hourly, in the directory that -o names; --since selects from them. With "
        "--duration, -o FILE.ctprof.zst records one file of all windows."},
    OptionInfo{"keep", "TIME", "record",
               "With --every: delete files whose windows are older than TIME. Default: 7d."},
    OptionInfo{"max-size", "SIZE", "record",
               "With --every: delete the oldest files when all files exceed SIZE. Overrides "
               "--keep. Default: 2G."},
    OptionInfo{"dry-run", nullptr, "record",
               "With --every: only report what would be kept and deleted, estimated from the "
               "existing windows or from one test window."},
    OptionInfo{"interleave", "CMD_A CMD_B", "record",
               "Record two conditions alternately: --repeat pairs of runs in random order. CMD_A "
               "or CMD_B runs in sh before each run. Runs are stored in directories a and b; "
               "compare them with `ctprof compare DIR`."},
    OptionInfo{"history", "SIZE", "live",
               "Keep at most SIZE of past windows in memory, from 1M to 16G, and at most ten "
               "minutes. Default: 128M."},
    OptionInfo{"recorders", "NAME,...", "record,live",
               "Also record call stacks with these recorders: on-cpu, off-cpu, sleepers."},
    OptionInfo{"freq", "HZ", "record,live",
               "Sample each CPU HZ times per second, at most 4000. Default: 99."},
    OptionInfo{"sleepers-freq", "HZ", "record,live",
               "Read the stacks of sleeping threads HZ times per second, at most 250. Default: 9."},
    OptionInfo{
        "offcpu-period", "TIME", "record,live",
        "Record one off-CPU stack per TIME of waiting on average: 100us, 10ms. Default: 1ms."},
    OptionInfo{"offcpu-stacks", "blocked|all|every", "record,live",
               "Record stacks of blocked threads (default), of all waits, or at every switch."},
    OptionInfo{"budget", "PERCENT", "record,live",
               "Let recorders use at most PERCENT of all CPUs, such as 1%. They reduce their rate "
               "before they exceed it."},
    OptionInfo{"max-depth", "N", "record,live",
               "Keep at most N frames of a stack, nearest to the leaf, from 1 to 1024. Default: "
               "127. With --unwind fp, on-cpu keeps at most kernel.perf_event_max_stack."},
    OptionInfo{"unwind", "cfi|fp", "record,live",
               "Unwind user stacks with call frame information (default), or follow frame pointers "
               "in the kernel."},
    OptionInfo{"stack-bytes", "SIZE", "record,live",
               "Copy at most SIZE of a user stack. Default: 32K up to 250 Hz, 8K above; where the "
               "kernel walks stacks and few are copied, 32K up to 1000 Hz, 16K above."},
    OptionInfo{
        "ring", "SIZE", "record,live",
        "Set the size of the kernel buffer per CPU. Default: 8M; 32M from 1000 Hz, or if more "
        "than 9M are copied per second."},
    OptionInfo{"debug-dir", "DIR", "record,live,symbolize",
               "Also search DIR for symbols, before /usr/lib/debug: DIR/.build-id/ab/cdef.debug or "
               "DIR/abcdef/debuginfo belongs to build id abcdef. symbolize also reads "
               "DIR/perf-PID.map and jit-PID.dump. Can be repeated."},
    OptionInfo{"debuginfod", nullptr, "symbolize",
               "Get missing files from the servers in $DEBUGINFOD_URLS."},
    OptionInfo{"inlines", nullptr, "record,live,symbolize",
               "Show inlined functions as frames, where debug information describes them."},
    OptionInfo{"stacks", nullptr, "capture",
               "Also record the stack of every sleeping thread once."},
    OptionInfo{"level", "fast|full", "capture,record",
               "Select metrics by cost. full (default of capture) includes metrics that are "
               "expensive to read, such as process.smaps_rollup and heaps. fast (default of "
               "record) includes these only if --metrics names them."},
    OptionInfo{"layout", "rows|columns", "capture",
               "Select the file layout: rows (default), which the reference tools can read, or "
               "columns, which is smaller and faster."},
    OptionInfo{"to", "FORM", "export",
               "Select the output format. ktstr: rows for the reference tools; columns: the native "
               "layout; ndjson, csv, parquet: tables; prometheus: metrics of groups; folded, "
               "pprof, speedscope, perfetto: call stacks; denet: off-CPU time."},
    OptionInfo{"rows", "KIND,...", "export",
               "Select the rows of tables: threads, cgroups, processes, host; long writes one row "
               "per value. Default: threads,cgroups for ndjson, threads for csv and parquet, which "
               "take one kind."},
    OptionInfo{"max-series", "N", "export",
               "With prometheus: export at most N series, those of the heaviest groups. 0: no "
               "limit. Default: 5000."},
    OptionInfo{"listen", "PORT", "export",
               "With --to prometheus: answer requests for /metrics about this host at PORT or "
               "ADDR:PORT, a loopback address (default 127.0.0.1), or at the Unix socket "
               "unix:PATH, until Ctrl-C. Only the owner can open the socket."},
    OptionInfo{
        "token-file", "FILE", "export",
        "With --listen: answer only requests with the token in FILE, sent as 'Authorization: "
        "Bearer TOKEN'. The token has 16 characters or more; only its owner can read FILE."},
    OptionInfo{"public", nullptr, "export",
               "With --listen: let every user of this host send requests, although ctprof runs as "
               "root or has capabilities."},
    OptionInfo{
        "csv-safe", nullptr, "show,compare,export",
        "In CSV for spreadsheets, prefix texts that look like formulas, such as =1+1, with '."},
    OptionInfo{"redact", nullptr, "export",
               "Replace names, paths, command lines, functions and the host name by stable "
               "pseudonyms. Numbers do not change. The default format is columns."},
    OptionInfo{"redact-key", "FILE", "export",
               "Derive the pseudonyms from FILE, 16 bytes or more, so that files with the same key "
               "can be compared. Default: a random key that is not stored."},
    OptionInfo{"metric", "NAME", "flame,export",
               "Select one metric of call stacks. Default: all; flame draws the first."},
    OptionInfo{"icicle", nullptr, "flame",
               "Draw callers above their callees. This is the default."},
    OptionInfo{"root-below", nullptr, "flame", "Draw callers below their callees."},
    OptionInfo{
        "idle", nullptr, "show,compare,flame",
        "Also show idle waits: those in poll, epoll, nanosleep, pause or wait4, and those that "
        "last for half of the window."},
    OptionInfo{"pid,p", "PID,...", "capture,record,live,record-tree",
               "Select only these processes; with record and live also processes that they fork "
               "meanwhile."},
    OptionInfo{"no-inherit", nullptr, "record,live",
               "With --pid: exclude processes that these fork meanwhile."},
    OptionInfo{"cgroup", "PATH", "capture,record,live",
               "Select only processes in this cgroup or below it, such as /a.slice/b.service."},
    OptionInfo{"jobs,j", "N", "capture,record,live,symbolize,export",
               "Use N worker threads. Default: as many as there are idle CPUs."},
    OptionInfo{"no-sync", nullptr, "capture,record,report,flame,symbolize,export",
               "Do not wait until the file is on disk."},
    OptionInfo{"force", nullptr, "capture,record,report,flame,symbolize,export",
               "Replace the file that -o names even if it is of another kind."},
    OptionInfo{"no-hostname", nullptr, "capture,record,live",
               "Do not store the host name in the file."},
    OptionInfo{"strict", nullptr, "capture,record,plugins",
               "Exit with status 3 and one message if some requested data is missing: a plugin, a "
               "metric that was named or that needs more privileges, threads, records. The file is "
               "written anyway."},
    OptionInfo{"verbose,v", nullptr, kAllCommands,
               "Also name the plugins and files that are read; capture and record also name "
               "processes and metrics that could not be read."},
    OptionInfo{"metrics", "NAME,...", "capture,record,show,compare,report,export",
               "Select only these metrics. show and compare also accept METRIC[KEY], one key of a "
               "map (METRIC[\"KEY\"] if the key has brackets or quotes; write a quote as \\\")."},
    OptionInfo{"sections", "NAME,...", "show,compare,report",
               "Select only these sections, as metric-list names them; stacks selects functions "
               "and call stacks."},
    OptionInfo{
        "group-by", "KEY", "show,compare,noise,report,flame,export",
        "Group threads by pcomm (process name), cgroup, comm (thread name), comm-exact, all, pid, "
        "service (unit, container or pod), tree (a process and all that it started), or a text "
        "metric of processes. Default: pcomm; of a window, processes of one name in different "
        "cgroups are then different groups. flame and export accept pcomm (with comm below it), "
        "comm, pid, cgroup, all."},
    OptionInfo{
        "entity", "NAME", "show,compare,export",
        "Show the rows of an entity that a plugin adds, such as disk, instead of threads: one "
        "group for each row. --where then selects rows: device == \"sda\". `ctprof plugins` "
        "lists the entities."},
    OptionInfo{"no-thread-normalize", nullptr, "live,show,compare,report,export",
               "Do not merge similar names of processes and threads. Metrics of processes are "
               "shown per process, as NAME[PID]."},
    OptionInfo{"no-cg-normalize", nullptr, "live,show,compare,report,export",
               "Do not merge similar cgroup paths."},
    OptionInfo{"cgroup-flatten", "GLOB", "show,compare,report,export",
               "Merge cgroups that match GLOB; ** matches across slashes. Can be repeated."},
    OptionInfo{"where", "EXPR", "show,compare,noise,report,flame",
               "Keep threads or groups for which EXPR is true, such as pcomm =~ \"^nginx\" && nice "
               "< 0, or cgroup under \"/a.slice\"; of groups: threads >= 8 && cpu_efficiency < "
               "0.5. Can be repeated."},
    OptionInfo{"derive", "NAME=EXPR", "show,compare,report",
               "Add a metric: 'ns_per_csw = run_time_ns / voluntary_csw'. A ratio is a level; a "
               "sum of counters is a counter. Can be repeated."},
    OptionInfo{
        "fail-on", "EXPR", "show,compare",
        "Exit with status 1 and print the rows for which EXPR is true, such as run_time_ns.pct > "
        "10 && group =~ \"web\". Operands: METRIC.pct, .delta, .baseline, .candidate, group, "
        "threads; with show METRIC. Sums of different parts are not compared. Can be repeated."},
    OptionInfo{"about", "GROUP|EXPR", "compare,noise,report",
               "Test the figures of one group by themselves, as a family of their own, and show "
               "them first: svc, or 'pcomm == \"svc\"'. Choose the group before you look at the "
               "comparison. EXPR tests `group`, or what --group-by names. Cannot be combined with "
               "--metrics, --sections and --plugins."},
    OptionInfo{"shares", nullptr, "compare,report",
               "Test and order functions of call stacks by their share of their group's samples "
               "instead of their time per second: finds a function that became more expensive in a "
               "service that gets less CPU time."},
    OptionInfo{
        "shift", "PERCENT", "noise",
        "Also print how many interleaved pairs of runs, and which recording time, would find "
        "a shift of PERCENT significant in 9 of 10 comparisons, such as 10%."},
    OptionInfo{"alpha", "P", "compare,noise,report,flame",
               "Set the significance level for sides of several runs. Default: 0.05. --fail-on "
               "then accepts METRIC.p, .shift, .low, .high."},
    OptionInfo{"min-shift", "PERCENT", "compare,report,flame",
               "Report a difference as significant only if its whole confidence interval is beyond "
               "PERCENT, such as 5%. Default: 0."},
    OptionInfo{
        "sort-by", "KEY,...", "show,compare",
        "Sort by a column of the first screen as printed (%wait, threads), or, in tables, by "
        "movers (default), delta, pct, name or METRIC. Largest first; -KEY or KEY:asc reverses."},
    OptionInfo{"lifetime", nullptr, "show,compare,report",
               "Show totals since each thread started instead of differences. Of a window, totals "
               "at its end."},
    OptionInfo{"vs", "FILE", "compare,report,flame",
               "Start the next side: compare A1 A2 --vs B1 B2."},
    OptionInfo{"since", "WHEN", "show,compare,report,flame,export",
               "Select the windows since WHEN from a directory that record --every fills: 10 min "
               "ago, 15:00, yesterday 15:00, 2026-11-23 15:00. Repeat it for further sides."},
    OptionInfo{"until", "WHEN", "show,compare,report,flame,export",
               "Select the windows until WHEN, including a window that contains WHEN."},
    OptionInfo{"rate", nullptr, "compare", "Also show changes of counters per second."},
    OptionInfo{"limit", "N", "show,compare,noise,report",
               "Show at most N rows, with --details N lines per section. 0: all. Default: one "
               "screen, or 500 lines."},
    OptionInfo{"display-format", "FORMAT", "compare",
               "Select columns: arrow (default), full, delta-only, no-pct or pct-only."},
    OptionInfo{"columns", "NAME,...", "show,compare",
               "Show exactly these columns: group, threads, metric, tags, uptime, runs, readings; "
               "with show value; with compare baseline, candidate, arrow, delta, %, shift, p, "
               "rate, of-which, life."},
    OptionInfo{"details", nullptr, "show,compare,report",
               "Show every metric of every group instead of one screen."},
    OptionInfo{"wrap", nullptr, "show,compare",
               "Break long cells into lines on a terminal instead of truncating them."},
    OptionInfo{"format", "text|json|csv", kAllCommands,
               "Select the output for people or for programs. csv: only show and compare."},
    OptionInfo{"json-schema", nullptr,
               "capture,show,compare,noise,metric-list,plugins,doctor,config,help",
               "Print the JSON schema of the output of --format json, and exit."},
    OptionInfo{"color", "auto|always|never", kAllCommands,
               "Use colors. auto: on a terminal. NO_COLOR is respected."},
    OptionInfo{"no-pager", nullptr, kAllCommands,
               "Do not start a pager on a terminal. Default: CTPROF_PAGER, PAGER, or less."},
    OptionInfo{
        "plugins", "NAME,...",
        "capture,record,live,show,compare,report,metric-list,plugins,record-tree,doctor,help",
        "Use exactly these plugins, or show only the metrics that they filled."},
    OptionInfo{
        "plugin-path", "DIR",
        "capture,record,live,show,compare,report,metric-list,plugins,record-tree,doctor,help",
        "Also search DIR for plugins. Can be repeated."},
    OptionInfo{"set", "PLUGIN.KEY=VALUE", "capture,record,live,plugins,doctor",
               "Set an option of a plugin; `ctprof plugins` lists them. Can be repeated."},
    OptionInfo{"lang", "c++|c|rust", "plugin",
               "new: Write the plugin in this language. Default: c++."},
    OptionInfo{"source", "thread|process|cgroup|host", "plugin",
               "new: Write a plugin with a metric of threads (default), processes, cgroups or the "
               "host."},
    OptionInfo{"as-root", nullptr, "plugin",
               "check: Run the plugin as root, if you are root. Default: as nobody."},
    OptionInfo{"rootfs", "DIR", "capture,plugins,plugin,record-tree,doctor",
               "Read /proc, /sys and cgroup below DIR."},
    OptionInfo{"quiet,q", nullptr, kAllCommands, "Print only errors."},
    OptionInfo{"build", nullptr, "version",
               "Also print how ctprof was built: compiler, options, kernel headers, libbpf, "
               "libraries, plugins."},
    OptionInfo{"version,V", nullptr, "", "Print the version."},
    OptionInfo{"help,h", nullptr, kAllCommands, "Print this text."},
};

}  // namespace ctprof::cli
