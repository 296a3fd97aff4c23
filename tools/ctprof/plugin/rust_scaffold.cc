#include "tools/ctprof/plugin/rust_scaffold.hpp"

#include <algorithm>
#include <array>

#include "plugin_templates.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"

namespace ctprof::cli {
namespace {

// The Rust of a kind of source. `probe` reads the file once, `loop` for each row.
struct RustSource {
  std::string_view name, entity, stage, headline, probe, loop;
};
constexpr std::array kRustSources{
    RustSource{.name = "thread",
               .entity = "Thread",
               .stage = "Threads",
               .headline = R"(
        headline: "blocks/s",
        shown: Shown::Rate,)",
               .probe = R"(.read_thread(host, &host.sample(), "status"))",
               .loop = R"(        for thread in batch.threads() {
            let text = self.file.read_thread(&self.host, &thread, "status");
            values.put(thread.row, text.and_then(parse));
        }
)"},
    RustSource{.name = "process",
               .entity = "Process",
               .stage = "Processes",
               .headline = R"(
        headline: "tasks",
        shown: Shown::Level,)",
               .probe = R"(.read_thread(host, &host.sample(), "status"))",
               .loop = R"(        for process in batch.processes() {
            let text = self.file.read(self.host.proc(), format!("{}/status", process.tgid));
            values.put(process.row, text.and_then(parse));
        }
)"},
    RustSource{.name = "cgroup",
               .entity = "Cgroup",
               .stage = "Cgroups",
               .headline = "",
               .probe = R"(.read(host.cgroup(), "cgroup.stat"))",
               .loop = R"(        for cgroup in batch.cgroups() {
            let text = self.file.read(self.host.cgroup(), cgroup.file("cgroup.stat"));
            values.put(cgroup.row, text.and_then(parse));
        }
)"},
    RustSource{
        .name = "host",
        .entity = "Host",
        .stage = "WholeHost",
        .headline = "",
        .probe = R"(.read(host.proc(), "stat"))",
        .loop =
            R"(        let text = self.file.read(self.host.proc(), "stat").map_err(Gap::for_host);
        values.put(0, text.and_then(parse));
)"},
};
static_assert(std::ranges::equal(kRustSources, kMetricSources, {}, &RustSource::name));

struct CrateFile {
  std::string_view path, text;
};
constexpr std::array kCrateFiles{
    CrateFile{"Cargo.toml", kCargoToml},
    CrateFile{"examples/threads.rs", kThreadsRs},
    CrateFile{"src/abi.rs", kAbiRs},
    CrateFile{"src/abi/record.rs", kRecordRs},
    CrateFile{"src/batch.rs", kBatchRs},
    CrateFile{"src/boundary.rs", kBoundaryRs},
    CrateFile{"src/files.rs", kFilesRs},
    CrateFile{"src/gap.rs", kGapRs},
    CrateFile{"src/histogram.rs", kHistogramRs},
    CrateFile{"src/host.rs", kHostRs},
    CrateFile{"src/labels.rs", kLabelsRs},
    CrateFile{"src/lib.rs", kLibRs},
    CrateFile{"src/metric.rs", kMetricRs},
    CrateFile{"src/newtypes.rs", kNewtypesRs},
    CrateFile{"src/plugin.rs", kPluginRs},
    CrateFile{"src/rule.rs", kRuleRs},
    CrateFile{"src/source.rs", kSourceRs},
    CrateFile{"src/text.rs", kTextRs},
};

}  // namespace

std::map<std::string, std::string, std::less<>> make_rust_words(std::string_view source_name) {
  const RustSource& source =
      *std::ranges::find_if(kRustSources, [&](const auto& it) { return it.name == source_name; });
  return {{"rust_entity", std::string(source.entity)},
          {"rust_stage", std::string(source.stage)},
          {"rust_headline", std::string(source.headline)},
          {"rust_probe", std::string(source.probe)},
          {"rust_loop", std::string(source.loop)}};
}

std::vector<ScaffoldFile> make_crate_files() {
  std::vector<ScaffoldFile> files;
  for (const CrateFile& file : kCrateFiles)
    files.push_back({"ctprof-sdk/" + std::string(file.path), std::string(file.text)});
  return files;
}

}  // namespace ctprof::cli
