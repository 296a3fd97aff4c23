#include "tools/ctprof/cli/command_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "core/base/text.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/plugin/plugin.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kAnyNumber = SIZE_MAX;

constexpr std::array kCommands{
    CommandInfo{"capture", "snapshot,snap,save,dump,ps", "-o FILE",
                "write a snapshot of every thread of this host",
                "ctprof capture -o before.ctprof.zst", &run_capture, 0, true},
    CommandInfo{
        "record", "stat,run,trace,profile,sample,start", "[-d TIME] [-o FILE] [-- COMMAND...]",
        "record a window: what every thread does for some time, including threads that exit",
        "ctprof record -d 10s", &run_record, 0, true},
    CommandInfo{"live", "top,htop,atop,watch,monitor", "",
                "show the last second of this host in a terminal, every second", "ctprof live",
                &run_live, 0, true},
    CommandInfo{"show", "view,print,cat,display,open,script,annotate,info", "[FILE | A..B | DIR]",
                "show a window or a snapshot by groups of threads",
                "ctprof show before.ctprof.zst..after.ctprof.zst", &run_show, 2},
    CommandInfo{"compare", "diff,delta,cmp,benchstat,vs", "BEFORE AFTER... | A... --vs B...",
                "compare windows, snapshots, directories of runs or hosts",
                "ctprof compare before.ctprof.zst after.ctprof.zst --limit 20", &run_compare,
                kAnyNumber, true},
    CommandInfo{"noise", "variance,stats", "DIR",
                "report the noise of repeated runs, and which shift they could detect",
                "ctprof noise runs/", &run_noise, 1},
    CommandInfo{"report", "html,page", "FILE | BEFORE... --vs AFTER... [-o FILE.html]",
                "write an HTML page of one recording or of a comparison",
                "ctprof report before/ --vs after/ -o report.html", &run_report, kAnyNumber},
    CommandInfo{"flame", "flamegraph,graph,svg",
                "FILE | BEFORE AFTER | A... --vs B... [-o FILE.svg|.html]",
                "draw a flame graph of call stacks, or of their difference",
                "ctprof flame run.ctprof.zst -o run.svg", &run_flame, kAnyNumber},
    CommandInfo{"symbolize", "symbols,resolve,addr2line,buildid-cache", "FILE",
                "add missing function names to the call stacks of a file",
                "ctprof symbolize run.ctprof.zst --debug-dir /srv/debug", &run_symbolize, 1},
    CommandInfo{
        "export", "convert,data,pprof,parquet,prometheus", "FILE --to FORM|--redact -o FILE",
        "convert a file to tables, profiles or other formats, or remove names from it; with "
        "--listen serve Prometheus",
        "ctprof export run.ctprof.zst --to ktstr -o run.ktstr.zst", &run_export, 1},
    CommandInfo{"fleet", "hosts,cluster,index,rank,sql", "SUBCOMMAND [OPTION...]",
                "query recordings of thousands of hosts", "ctprof fleet compare --by kernel",
                &run_fleet, kAnyNumber},
    CommandInfo{"metric-list", "list,ls,metrics,events,fields", "[FILE]",
                "list the metrics of all plugins or of one file", "ctprof metric-list",
                &run_metric_list, 1},
    CommandInfo{"plugins", "sources,modules,lsmod", "",
                "list plugins, their metrics, and what each cannot read here", "ctprof plugins",
                &run_plugins, 0, true},
    CommandInfo{"plugin", "scaffold,new,create,init,sdk", "new NAME | check FILE.so",
                "create a directory with a new plugin, or check a plugin for faults",
                "ctprof plugin new hello", &run_plugin, 3},
    CommandInfo{"record-tree", "fixture,snapshot-tree", "DIR",
                "copy the kernel files that a capture reads into a directory, for tests of plugins",
                "ctprof record-tree tree --pid 1", &run_record_tree, 1},
    CommandInfo{"doctor", "check,diagnose,probe,setup", "",
                "report which metrics this host cannot provide, and how to enable them",
                "ctprof doctor", &run_doctor, 0, true},
    CommandInfo{"config", "settings,options,conf", "",
                "print the configuration and where each setting comes from", "ctprof config",
                &run_config, 0},
    CommandInfo{"completion", "", "SHELL", "print the completion script for bash, zsh or fish",
                "source <(ctprof completion bash)", &run_completion, 1},
    CommandInfo{"version", "about", "", "print the version", "ctprof version", &run_version, 0},
};

}  // namespace

std::span<const CommandInfo> command_table() { return kCommands; }

const CommandInfo* find_command(std::string_view name) {
  const auto it = std::ranges::find(kCommands, name, &CommandInfo::name);
  return it == kCommands.end() ? nullptr : &*it;
}

std::string command_hint(std::string_view word, std::vector<std::string> other_words) {
  std::string lower_word(word);
  for (char& c : lower_word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const CommandInfo& command : kCommands)
    if (is_listed(command.similar_names, lower_word))
      return " (did you mean '" + std::string(command.name) + "'?)";
  for (const CommandInfo& command : kCommands) other_words.emplace_back(command.name);
  return suggest_nearest(word, other_words);
}

std::string explain_unknown_command(const std::string& name) {
  return find_command(name) ? "" : "unknown command '" + name + "'" + command_hint(name);
}

}  // namespace ctprof::cli
