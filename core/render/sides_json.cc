#include "core/render/sides_json.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include "core/compare/request/spec.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

class SidesWriter {
 public:
  SidesWriter(JsonBuilder& json, const Report& report, const std::function<bool()>& may_write)
      : json_(&json), report_(&report), may_write_(&may_write) {}

  void write_side(std::size_t side, const std::string& file) {
    const RunFacts& first = report_->sides()[side];
    const auto runs = report_->runs(side);
    json_->key(report_->is_comparison() ? side_name(side) : "snapshot");
    json_->open('{');
    json_->text_member("file", file);
    write_run(first);
    if (runs.size() > 1) write_runs(runs);
    json_->close('}');
  }

  void write_host_differences() {
    for (std::size_t side = 1; side < report_->sides().size(); ++side) {
      const auto differences = host_differences(report_->runs(0), report_->runs(side));
      json_->key(side == 1 ? "host_diff" : "host_diff_" + std::to_string(side));
      if (!differences) {
        json_->raw("null");
        continue;
      }
      json_->open('[');
      for (const HostDifference& difference : *differences)
        if ((*may_write_)()) write_difference(difference);
      json_->close(']');
    }
  }

 private:
  void write_runs(std::span<const RunFacts> runs) {
    json_->key("runs");
    json_->open('[');
    for (const RunFacts& run : runs) {
      if (!(*may_write_)()) continue;
      json_->open_item();
      write_run(run);
      json_->close('}');
    }
    json_->close(']');
  }

  void write_run(const RunFacts& run) {
    json_->key("hostname");
    run.meta.hostname ? json_->text(*run.meta.hostname) : json_->raw("null");
    json_->text_member("boot_id", run.meta.boot_id);
    json_->number_member("start_unix_ns", run.meta.start.wall_unix_ns);
    json_->number_member("threads", run.threads());
    json_->number_member("processes", run.processes());
    write_takeovers(run.meta.takeovers);
    if (run.window) write_window(*json_, run);
  }

  void write_takeovers(const std::vector<Takeover>& takeovers) {
    json_->key("takeovers");
    json_->open('[');
    for (const Takeover& takeover : takeovers) {
      if (!(*may_write_)()) continue;
      json_->open_item();
      json_->text_member("plugin", takeover.plugin);
      json_->texts_member("metrics", takeover.metrics);
      json_->close('}');
    }
    json_->close(']');
  }

  void write_difference(const HostDifference& difference) {
    json_->open_item();
    json_->text_member("key", difference.key);
    json_->key("baseline");
    append_existing_json(json_->out(), difference.baseline.front().json.value_or("null"));
    json_->key("candidate");
    append_existing_json(json_->out(), difference.candidate.front().json.value_or("null"));
    write_values("baseline_runs", difference.baseline);
    write_values("candidate_runs", difference.candidate);
    json_->close('}');
  }

  // Writes the values of a side whose runs differ.
  void write_values(std::string_view name, std::span<const HostValue> values) {
    if (values.size() < 2) return;
    json_->key(name);
    json_->open('[');
    for (const HostValue& value : values) {
      json_->open_item();
      json_->key("value");
      append_existing_json(json_->out(), value.json.value_or("null"));
      json_->number_member("runs", value.runs);
      json_->close('}');
    }
    json_->close(']');
  }

  JsonBuilder* json_;
  const Report* report_;
  const std::function<bool()>* may_write_;
};

}  // namespace

void write_sides(JsonBuilder& json, const Report& report, std::span<const std::string> files,
                 const std::function<bool()>& may_write) {
  SidesWriter writer(json, report, may_write);
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    writer.write_side(side, files[side]);
}

void write_host_differences(JsonBuilder& json, const Report& report,
                            const std::function<bool()>& may_write) {
  SidesWriter(json, report, may_write).write_host_differences();
}

}  // namespace ctprof
