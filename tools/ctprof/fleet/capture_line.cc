#include "tools/ctprof/fleet/capture_line.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/run_facts.hpp"
#include "core/compare/report/families.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof::cli {
namespace {

constexpr std::string_view kShownNames[] = {"percent", "rate", "level"};
constexpr std::string_view kEntryNames[] = {"mean", "range", "group"};

// A host's context has about thirty facts, but a file may contain any number, of any length.
constexpr std::size_t kMaxFacts = 512, kMaxFactBytes = 8192, kMaxFactsBytes = 128 << 10;

void write_flag(JsonWriter& out, std::string_view name, bool is_set) {
  out.key(name);
  out.boolean(is_set);
  out.put(',');
}

void write_number(JsonWriter& out, std::string_view name, double value) {
  out.key(name);
  write_json(value, out);
  out.put(',');
}

void write_null(JsonWriter& out, std::string_view name) {
  out.key(name);
  out.raw("null,");
}

template <class Items, class Write>
void write_array(JsonWriter& out, std::string_view name, const Items& items, Write write) {
  out.key(name);
  out.put('[');
  for (const auto& item : items) {
    write(item);
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

void write_headline(const Headline& headline, JsonWriter& out) {
  out.key("headline");
  out.put('{');
  out.member("label", headline.label);
  out.member("order", std::uint64_t{headline.order});
  out.member("shown", kShownNames[headline.shown]);
  write_number(out, "floor", headline.floor);
  out.member("entry", kEntryNames[static_cast<std::size_t>(family_criterion_of(headline))]);
  out.close('}');
  out.put(',');
}

void write_definition(const CapturePlan& plan, const PlannedMetric& metric, bool is_headline,
                      JsonWriter& out) {
  out.put('{');
  out.member("name", metric.name);
  out.member("entity", name(metric.entity));
  out.member("unit", metric.unit);
  out.member("newtype", plan.newtype(metric));
  out.member("rule", metric.rule ? std::string_view(metric.rule->name) : std::string_view());
  out.member("family", metric.family);
  out.member("section", metric.section);
  write_flag(out, "adds_up", metric.is_cumulative);
  write_flag(out, "is_sum", metric.is_sum);
  write_flag(out, "derived", metric.expression.has_value());
  is_headline ? write_headline(*metric.headline, out) : write_null(out, "headline");
  out.close('}');
}

bool is_headline(const CapturePlan& plan, const CapturePlan::NumericMetric& numbered) {
  const auto shown = plan.headlines();
  return !numbered.is_of_cgroups &&
         std::find(shown.begin(), shown.end(), numbered.metric) != shown.end();
}

// --- one capture

void write_times(const Snapshot& capture, JsonWriter& out) {
  const Meta& meta = capture.meta;
  const Timestamp& opened = capture.window ? capture.window->opened_at : meta.start;
  out.member("kind", capture.window ? "window" : "snapshot");
  if (meta.hostname)
    out.member("host", *meta.hostname);
  else
    write_null(out, "host");
  out.member("boot_id", meta.boot_id);
  out.member("opened_at_ns", opened.wall_unix_ns);
  out.member("captured_at_ns", meta.start.wall_unix_ns);
  if (capture.window)
    write_number(out, "seconds", rates_over_ns(capture) / kNsPerSecond);
  else
    write_null(out, "seconds");
  if (meta.start.boottime_ns > 0)
    write_number(out, "uptime", static_cast<double>(meta.start.boottime_ns) / kNsPerSecond);
  else
    write_null(out, "uptime");
}

void write_counts(const Snapshot& capture, JsonWriter& out) {
  const std::size_t thread_count = capture.threads().rows;
  const std::size_t living = capture.window ? capture.window->living_threads : thread_count;
  const std::uint64_t merged = capture.window ? capture.window->exited_merged : 0;
  out.member("threads", std::uint64_t{living});
  out.member("ended", std::uint64_t{thread_count - living} + merged);
  out.member("tool", capture.meta.tool);
  write_array(out, "level_left_out", capture.meta.uncaptured_metrics,
              [&](const std::string& metric) { out.text(metric); });
}

// Writes strings, numbers and booleans as they are. Lists and objects become JSON text in a string.
void write_fact(std::string_view json, JsonWriter& out) {
  json.starts_with('[') || json.starts_with('{') ? out.text(json) : out.embed(json);
}

void write_facts(const Snapshot& capture, JsonWriter& out) {
  std::optional<HostMembers> members;
  if (const auto host = capture.objects.find(kHostContext); host != capture.objects.end())
    members = host_members(host->second);
  std::uint64_t written = 0, left_out = 0;
  const std::size_t start_size = out.size();
  out.key("facts");
  out.put('{');
  for (const auto& [key, json] : members.value_or(HostMembers{})) {
    const std::size_t size = key.size() + json.size();
    if (written >= kMaxFacts || size > kMaxFactBytes ||
        out.size() - start_size + size > kMaxFactsBytes) {
      ++left_out;
      continue;
    }
    ++written;
    out.key(key);
    write_fact(json, out);
    out.put(',');
  }
  out.close('}');
  out.put(',');
  out.member("facts_left_out", left_out);
}

// In the order of the definitions, which contain the names.
void write_totals(const CapturePlan& plan, const CaptureFigures& figures, JsonWriter& out) {
  const auto write = [&](const CapturePlan::NumericMetric& numbered) {
    write_json(figures.total(numbered), out);
  };
  write_array(out, "totals", plan.numeric_metrics(), write);
  std::vector<CapturePlan::NumericMetric> headlines;
  std::ranges::copy_if(
      plan.numeric_metrics(), std::back_inserter(headlines),
      [&](const CapturePlan::NumericMetric& numbered) { return is_headline(plan, numbered); });
  write_array(out, "headlines", headlines, write);
}

void write_coverage(const CapturePlan& plan, const CaptureFigures& figures, JsonWriter& out) {
  out.key("coverage");
  out.put('{');
  for (const auto& numbered : plan.numeric_metrics()) {
    const Coverage coverage = figures.coverage(numbered);
    if (coverage.is_full()) continue;
    out.key(plan.planned_metric(numbered).name);
    out.put('[');
    out.number(coverage.values);
    out.put(',');
    out.number(coverage.rows);
    out.raw("],");
  }
  out.close('}');
  out.put(',');
}

void write_groups(const CapturePlan& plan, const CaptureFigures& figures, JsonWriter& out) {
  std::vector<std::uint32_t> groups(figures.names().size());
  for (std::uint32_t group = 0; group < groups.size(); ++group) groups[group] = group;
  out.key("groups");
  out.put('{');
  write_array(out, "group", figures.names(), [&](const std::string& name) { out.text(name); });
  write_array(out, "pattern", figures.patterns(), [&](const std::string& name) { out.text(name); });
  write_array(out, "threads", groups,
              [&](std::uint32_t group) { out.number(figures.threads(group)); });
  write_array(out, "own", groups,
              [&](std::uint32_t group) { out.boolean(figures.is_of_recorder(group)); });
  for (const std::size_t metric : plan.headlines())
    write_array(out, plan.metrics().metrics[metric].name, groups,
                [&](std::uint32_t group) { write_json(figures.value(group, metric), out); });
  out.close('}');
  out.put(',');
}

}  // namespace

void write_definitions(const CapturePlan& plan, std::size_t registry, JsonWriter& out) {
  out.put('{');
  out.member("registry", std::uint64_t{registry});
  write_array(
      out, "metrics", plan.numeric_metrics(), [&](const CapturePlan::NumericMetric& numbered) {
        write_definition(plan, plan.planned_metric(numbered), is_headline(plan, numbered), out);
      });
  out.close('}');
  out.put('\n');
}

void write_capture(const Snapshot& capture, const CapturePlan& plan, const CaptureFigures& figures,
                   std::size_t registry, JsonWriter& out) {
  write_times(capture, out);
  write_counts(capture, out);
  write_facts(capture, out);
  out.member("registry", std::uint64_t{registry});
  out.member("metrics_left_out", std::uint64_t{figures.omitted_metrics()});
  write_totals(plan, figures, out);
  write_coverage(plan, figures, out);
  write_groups(plan, figures, out);
}

}  // namespace ctprof::cli
