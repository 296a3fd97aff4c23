// The fields of the file's own objects, each named once: writer and reader both go by these lists.
//
// A list is a function that shows every field, with its key, to a visitor. Keys reach the file; one
// that is missing when read keeps its default, so fields may be added.
//
// What is here:   the lists.
// What is not:    how a field becomes JSON and back (field_io.hpp).

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// `Of<T, X>`: T is X or const X.
template <class T, class X>
concept Of = std::same_as<std::remove_const_t<T>, X>;

template <Of<Moment> T, class Visitor>
void each_field(T& moment, Visitor&& visit) {
  visit("wall_unix_ns", moment.wall_unix_ns);
  visit("monotonic_ns", moment.boottime_ns);
}

template <Of<SourceCost> T, class Visitor>
void each_field(T& cost, Visitor&& visit) {
  visit("plugin", cost.plugin);
  visit("source", cost.source);
  visit("stage", cost.stage);
  visit("start_ns", cost.start_ns);
  visit("wall_ns", cost.wall_ns);
  visit("busy_ns", cost.busy_ns);
  visit("longest_stop_ns", cost.longest_stop_ns);
  visit("gaps", cost.gaps);
  visit("failed", cost.failed);
  visit("unseen_rows", cost.unseen_rows);
}

template <Of<Takeover> T, class Visitor>
void each_field(T& takeover, Visitor&& visit) {
  visit("plugin", takeover.plugin);
  visit("metrics", takeover.metrics);
}

template <Of<Meta> T, class Visitor>
void each_field(T& meta, Visitor&& visit) {
  visit("format", meta.format);
  visit("tool", meta.tool);
  visit("boot_id", meta.boot_id);
  visit("hostname", meta.hostname);
  visit("start", meta.start);
  visit("end", meta.end);
  visit("user_hz", meta.user_hz);
  visit("live", meta.live);
  visit("euid", meta.euid);
  visit("capabilities", meta.capabilities);
  visit("cgroup_mount", meta.cgroup_mount);
  visit("cgroup_root", meta.cgroup_root);
  visit("cpu_time_ns", meta.cpu_time_ns);
  visit("own_threads", meta.own_threads);
  visit("rows_listed", meta.rows_listed);
  visit("rows_absent", meta.rows_absent);
  visit("thread_skew_ns", meta.thread_skew_ns);
  visit("skew_ns", meta.skew_ns);
  visit("sources", meta.sources);
  visit("takeovers", meta.takeovers);
  visit("notes", meta.notes);
}

// Whether a field of Meta is known only when all has been read: a file in columns has it at its
// end.
inline bool is_late(std::string_view key) {
  constexpr std::array<std::string_view, 10> kLate{
      "end",     "cpu_time_ns", "own_threads", "rows_listed", "rows_absent", "thread_skew_ns",
      "skew_ns", "sources",     "takeovers",   "notes"};
  return std::find(kLate.begin(), kLate.end(), key) != kLate.end();
}

template <Of<Provenance> T, class Visitor>
void each_field(T& provenance, Visitor&& visit) {
  visit("filled_by", provenance.plugin);
  visit("filled_from", provenance.source);
  visit("gap", provenance.gap);
  visit("reason", provenance.reason);
}

// `shown` is a ctprof_shown.
template <Of<Headline> T, class Visitor>
void each_field(T& headline, Visitor&& visit) {
  visit("label", headline.label);
  visit("order", headline.order);
  visit("shown", headline.shown);
  visit("by_change", headline.by_change);
  visit("floor", headline.floor);
}

template <Of<MetricDef> T, class Visitor>
void each_field(T& def, Visitor&& visit) {
  visit("name", def.name);
  visit("entity", def.entity);
  visit("storage", def.storage);
  visit("newtype", def.newtype);
  visit("rule", def.rule);
  visit("fallback", def.fallback);
  visit("reduction", def.reduction);
  for (const MetricText& field : kMetricTexts) visit(field.name, def.*field.kept);
  visit("plugin", def.plugin);
  visit("setting", def.setting);
  visit("costly", def.costly);
  visit("headline", def.headline);
  visit("role", def.role);
}

template <Of<DerivedDef> T, class Visitor>
void each_field(T& def, Visitor&& visit) {
  visit("name", def.name);
  visit("entity", def.entity);
  visit("expression", def.expression);
  visit("unit", def.unit);
  visit("family", def.family);
  visit("section", def.section);
  visit("sched_class", def.sched_class);
  visit("config_gates", def.config_gates);
  visit("applies_to", def.applies_to);
  visit("description", def.description);
  visit("caveat", def.caveat);
  visit("plugin", def.plugin);
  visit("headline", def.headline);
  visit("role", def.role);
}

}  // namespace ctprof
