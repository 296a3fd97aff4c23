// Lists the fields of the file's own objects. Writer and reader both use these lists.
//
// A list is a function that passes every field, with its key, to a visitor. Keys are stored in the
// file. A missing key leaves the default, so fields can be added. FieldWriter leaves out empty
// values: an empty text, an absent value, false, an empty list of takeovers or stacks, no gap.
//
// Contents: the lists, and writing a listed object as JSON.
//
// See also: field_reader.hpp, which reads it.

#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/file/layout/limits.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/gap.hpp"

namespace ctprof {

// `SameOrConst<T, X>`: T is X or const X.
template <class T, class X>
concept SameOrConst = std::same_as<std::remove_const_t<T>, X>;

template <SameOrConst<Timestamp> T, class Visitor>
void each_field(T& moment, Visitor&& visit) {
  visit("wall_unix_ns", moment.wall_unix_ns);
  visit("monotonic_ns", moment.boottime_ns);
}

template <SameOrConst<SourceCost> T, class Visitor>
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

template <SameOrConst<StackTally> T, class Visitor>
void each_field(T& tally, Visitor&& visit) {
  visit("plugin", tally.plugin);
  visit("source", tally.source);
  visit("records", tally.records);
  visit("to_root", tally.complete_stacks);
  visit("cut", tally.stacks_beyond_copy);
  visit("deep", tally.too_deep_stacks);
  visit("lost", tally.stacks_without_rule);
  visit("without_user", tally.without_user);
  visit("guessed", tally.guessed_stacks);
  visit("no_room", tally.stacks_beyond_limit);
  visit("in_no_row", tally.records_without_row);
  visit("frames", tally.frames);
  visit("unnamed", tally.unnamed_frames);
  visit("covered_ns", tally.covered_ns);
  visit("elsewhere", tally.stacks_on_other_stack);
}

template <SameOrConst<Takeover> T, class Visitor>
void each_field(T& takeover, Visitor&& visit) {
  visit("plugin", takeover.plugin);
  visit("metrics", takeover.metrics);
}

template <SameOrConst<InterleavedPair> T, class Visitor>
void each_field(T& pair, Visitor&& visit) {
  visit("seed", pair.seed);
  visit("number", pair.number);
}

template <SameOrConst<Meta> T, class Visitor>
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
  visit("pair", meta.pair);
  visit("left_out", meta.uncaptured_metrics);
  visit("cpu_time_ns", meta.cpu_time_ns);
  visit("own_threads", meta.own_threads);
  visit("rows_listed", meta.rows_listed);
  visit("rows_absent", meta.rows_absent);
  visit("thread_skew_ns", meta.thread_skew_ns);
  visit("skew_ns", meta.skew_ns);
  visit("sources", meta.sources);
  visit("takeovers", meta.takeovers);
  visit("stacks", meta.stacks);
  visit("notes", meta.notes);
}

// Returns whether a field of Meta is known only at the end of the capture. A columns file stores
// it in its summary.
inline bool is_summary_field(std::string_view key) {
  constexpr std::array<std::string_view, 11> kSummaryFields{
      "end",     "cpu_time_ns", "own_threads", "rows_listed", "rows_absent", "thread_skew_ns",
      "skew_ns", "sources",     "takeovers",   "stacks",      "notes"};
  return std::find(kSummaryFields.begin(), kSummaryFields.end(), key) != kSummaryFields.end();
}

template <SameOrConst<Provenance> T, class Visitor>
void each_field(T& provenance, Visitor&& visit) {
  visit("filled_by", provenance.plugin);
  visit("filled_from", provenance.source);
  visit("gap", provenance.gap);
  visit("reason", provenance.reason);
}

// `shown` is a ctprof_shown.
template <SameOrConst<Headline> T, class Visitor>
void each_field(T& headline, Visitor&& visit) {
  visit("label", headline.label);
  visit("order", headline.order);
  visit("shown", headline.shown);
  visit("by_change", headline.orders_by_change);
  visit("floor", headline.floor);
}

// `next` is a ctprof_next_step.
template <SameOrConst<FindingDef> T, class Visitor>
void each_field(T& finding, Visitor&& visit) {
  visit("statement", finding.statement);
  visit("at_least", finding.at_least);
  visit("weight", finding.weight);
  visit("next", finding.next);
}

template <SameOrConst<MetricDef> T, class Visitor>
void each_field(T& def, Visitor&& visit) {
  visit("name", def.name);
  visit("entity", def.entity);
  visit("storage", def.storage);
  visit("newtype", def.newtype);
  visit("rule", def.rule);
  visit("fallback", def.fallback);
  visit("reduction", def.reduction);
  for (const MetricText& field : kMetricTexts) visit(field.name, def.*field.target_field);
  visit("plugin", def.plugin);
  visit("setting", def.is_setting);
  visit("costly", def.costly);
  visit("of_window", def.covers_window);
  visit("headline", def.headline);
  visit("role", def.role);
}

template <SameOrConst<DerivedDef> T, class Visitor>
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
  visit("finding", def.finding);
}

// A type with a list in this file.
template <class T>
concept HasFields = requires(T& object) {
  each_field(object, [](const char*, auto&) {});
};

// Writes listed objects as JSON.
class FieldWriter {
 public:
  explicit FieldWriter(JsonWriter& out) : out_(&out) {}

  // Writes the object's members, without braces.
  template <HasFields T>
  void write_members(const T& object) {
    each_field(object,
               [this](const char* key, const auto& value) { this->write_field(key, value); });
  }
  // Writes only the members whose key is accepted by `is_included`.
  template <HasFields T>
  void write_members(const T& object, auto is_included) {
    each_field(object, [&](const char* key, const auto& value) {
      if (is_included(std::string_view(key))) this->write_field(key, value);
    });
  }
  template <HasFields T>
  void write_object(const T& object) {
    out_->put('{');
    write_members(object);
    out_->close('}');
  }

 private:
  template <class T>
  void write_field(const char* key, const T& value) {
    if (is_empty_value(value)) return;
    out_->key(key);
    write(value);
    out_->put(',');
  }

  static bool is_empty_value(const std::string& text) { return text.empty(); }
  static bool is_empty_value(bool flag) { return !flag; }
  static bool is_empty_value(const std::vector<Takeover>& takeovers) { return takeovers.empty(); }
  static bool is_empty_value(const std::vector<StackTally>& stacks) { return stacks.empty(); }
  static bool is_empty_value(Gap gap) { return gap == Gap::None; }
  template <class T>
  static bool is_empty_value(const std::optional<T>& value) {
    return !value;
  }
  template <class T>
  static bool is_empty_value(const T&) {
    return false;
  }

  void write(const std::string& text) { out_->text(text); }
  void write(bool flag) { out_->boolean(flag); }
  void write(std::uint64_t number) { out_->number(number); }
  void write(std::uint32_t number) { out_->number(std::uint64_t{number}); }
  void write(double number) { out_->number(number); }
  void write(Gap gap) { out_->number(std::uint64_t{static_cast<ctprof_gap>(gap)}); }
  void write(Entity entity) { out_->text(name(entity)); }
  void write(Storage storage) { out_->text(name(storage)); }
  void write(const std::map<std::string, std::uint64_t>& numbers) {
    out_->put('{');
    for (const auto& [key, number] : numbers) {
      out_->key(key);
      out_->number(number);
      out_->put(',');
    }
    out_->close('}');
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <HasFields T>
  void write(const T& value) {
    write_object(value);
  }
  template <class T>
  void write(const std::vector<T>& items) {
    out_->put('[');
    for (const T& item : items) {
      write(item);
      out_->put(',');
    }
    out_->close(']');
  }

  JsonWriter* out_;
};

}  // namespace ctprof
