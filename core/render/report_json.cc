#include "core/render/report_json.hpp"

#include <algorithm>
#include <array>

#include "core/base/json_text.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/figures/host_diff.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kFlushAt = 64 * 1024;
constexpr std::array<std::string_view, 2> kSides{"baseline", "candidate"};

class Writer {
 public:
  Writer(const Report& report, std::span<const std::string> files, Sink& sink)
      : report_(&report),
        files_(files),
        sink_(&sink),
        compares_(report.sides().size() == 2),
        allowance_(report.sides()) {}

  Result<void> write() {
    open('{');
    key("schema");
    raw(std::to_string(kReportSchema));
    for (std::size_t side = 0; side < report_->sides().size(); ++side) write_side(side);
    text_member("group_by", name(report_->spec().group_by));
    write_rows();
    if (!report_->spec().fail_on.empty()) write_failed();
    if (compares_) {
      write_one_sided(0);
      write_one_sided(1);
      write_renames();
      write_host_diff();
    }
    write_cut();
    write_notes();
    close('}');
    out_ += '\n';
    hand_on();
    return handed_on_;
  }

 private:
  // ---- pieces of JSON: whoever adds a member or an item puts the comma before it
  void comma() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void open(char bracket) {
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    comma();
    append_json(out_, name);
    out_ += ':';
  }
  void raw(std::string_view json) { out_ += json; }
  void text_member(std::string_view name, std::string_view text) {
    key(name);
    append_json(out_, text);
  }
  void number_member(std::string_view name, std::uint64_t number) {
    key(name);
    append_json(out_, number);
  }
  void flush() {
    if (out_.size() < kFlushAt) return;
    pay();
    hand_on();
    paid_ = 0;
  }
  // After a failure nothing more.
  void hand_on() {
    if (handed_on_) handed_on_ = sink_->write(out_);
    out_.clear();
  }
  void pay() {
    allowance_.spend(out_.size() - paid_);
    paid_ = out_.size();
  }
  // Whether there may be one more row, of whatever table; it is counted where not.
  bool has_room() {
    pay();
    left_out_ += allowance_.is_spent();
    return !allowance_.is_spent();
  }

  // ---- what there is to say
  void write_side(std::size_t side) {
    const Snapshot& snapshot = *report_->sides()[side];
    key(compares_ ? kSides[side] : "snapshot");
    open('{');
    text_member("file", files_[side]);
    key("hostname");
    snapshot.meta.hostname ? append_json(out_, *snapshot.meta.hostname) : raw("null");
    text_member("boot_id", snapshot.meta.boot_id);
    number_member("start_unix_ns", snapshot.meta.start.wall_unix_ns);
    number_member("threads", snapshot.threads().rows);
    number_member("processes", snapshot.table(Entity::Process).rows);
    write_takeovers(snapshot.meta.takeovers);
    close('}');
  }

  void write_takeovers(const std::vector<Takeover>& takeovers) {
    key("takeovers");
    open('[');
    for (const Takeover& takeover : takeovers) {
      if (!has_room()) continue;
      comma();
      open('{');
      text_member("plugin", takeover.plugin);
      key("metrics");
      open('[');
      for (const std::string& metric : takeover.metrics) {
        comma();
        append_json(out_, metric);
      }
      close(']');
      close('}');
    }
    close(']');
  }

  void write_rows() {
    key("rows");
    open('[');
    for (const Section& section : report_->sections())
      for (const RowAt row : section.rows) {
        if (!has_room()) continue;
        comma();
        compares_ ? write_change(row) : write_value(row);
        flush();
      }
    close(']');
  }

  void write_failed() {
    key("failed");
    open('[');
    for (const RowAt row : report_->failed().rows) {
      if (!has_room()) continue;
      comma();
      write_change(row);
      flush();
    }
    close(']');
  }

  void write_row_key(RowAt row) {
    const PlannedMetric& metric = report_->metrics()[row.metric];
    text_member("section", metric.section);
    write_group(report_->grouping().name(metric.entity, row.group));
    text_member("metric", metric.name);
    text_member("unit", unit_told(metric.unit));
  }

  // A name, or under `all` an array of three.
  void write_group(std::string_view group) {
    const auto parts = key_parts(group);
    if (parts.size() == 1) return text_member("group", group);
    key("group");
    open('[');
    for (const std::string_view part : parts) {
      comma();
      append_json(out_, part);
    }
    close(']');
  }

  void write_value(RowAt row) {
    open('{');
    write_row_key(row);
    key("value");
    report_->rollup().append_json(out_, {0, row.group, row.metric});
    number_member("threads", threads(0, row));
    write_coverage("coverage", {0, row.group, row.metric});
    write_beside("", {0, row.group, row.metric});
    close('}');
  }

  void write_change(RowAt row) {
    open('{');
    write_row_key(row);
    for (std::size_t side = 0; side < 2; ++side) {
      key(kSides[side]);
      report_->rollup().append_json(out_, {side, row.group, row.metric});
    }
    write_delta(row);
    for (std::size_t side = 0; side < 2; ++side)
      number_member("threads_" + std::string(kSides[side]), threads(side, row));
    for (std::size_t side = 0; side < 2; ++side)
      write_coverage("coverage_" + std::string(kSides[side]), {side, row.group, row.metric});
    write_turnover(row);
    for (std::size_t side = 0; side < 2; ++side)
      write_beside("_" + std::string(kSides[side]), {side, row.group, row.metric});
    close('}');
  }

  void write_delta(RowAt row) {
    const Change change = report_->changes().of(row.group, row.metric);
    key("delta");
    if (report_->rollup().has_parts(row.metric) && change.moved != Moved::Nowhere &&
        change.moved != Moved::OneSide)
      write_part_deltas(row);
    else if (!change.difference.known() && !change.word.empty())
      append_json(out_, std::string_view(change.word));
    else
      append_json(out_, change.difference);
    key("pct");
    append_json(out_, change.pct);
    write_origin(row);
    if (!report_->spec().rate) return;
    key("rate");
    append_json(out_, report_->rates().of(row.group, row.metric, change.difference));
  }

  // How much of the delta came from threads of both sides, and of one.
  void write_origin(RowAt row) {
    const auto origin = report_->origins().of(row.group, row.metric);
    const auto member = [&](std::string_view name, Difference Origin::*part) {
      key(name);
      append_json(out_, origin ? (*origin).*part : Difference{});
    };
    member("delta_alive", &Origin::alive);
    member("delta_new", &Origin::fresh);
    member("delta_gone", &Origin::gone);
  }

  void write_turnover(RowAt row) {
    const bool is_host = report_->metrics()[row.metric].entity == Entity::Host;
    const auto turnover =
        is_host ? report_->lives().in_all() : report_->lives().in_group(row.group);
    const auto member = [&](std::string_view name, std::uint64_t Turnover::*count) {
      key(name);
      append_json(out_, turnover ? number_of((*turnover).*count) : no_number());
    };
    member("threads_alive", &Turnover::alive);
    member("threads_new", &Turnover::fresh);
    member("threads_gone", &Turnover::gone);
  }

  // What there is to say beside a value: whose reading is the largest, and what the rule adds.
  void write_beside(const std::string& side, CellAt at) {
    const auto busiest = report_->busiest(at);
    key("busiest" + side);
    if (busiest) {
      open('{');
      number_member("tid", busiest->tid);
      text_member("comm", busiest->comm);
      close('}');
    } else {
      raw("null");
    }
    key("extras" + side);
    report_->rollup().append_extras(out_, at);
  }

  // Keys that both sides have.
  void write_part_deltas(RowAt row) {
    open('{');
    for (const PartChange& part : report_->changes().parts(row.group, row.metric)) {
      if (!part.difference.known()) continue;
      key(part.key);
      append_json(out_, part.difference);
    }
    close('}');
  }

  std::uint64_t threads(std::size_t side, RowAt row) const {
    if (report_->metrics()[row.metric].entity == Entity::Host)
      return report_->sides()[side]->threads().rows;
    return report_->grouping().sides[side].threads(row.group);
  }

  void write_coverage(std::string_view name, CellAt at) {
    const Coverage coverage = report_->rollup().read(at).coverage;
    key(name);
    open('{');
    number_member("values", coverage.values);
    number_member("rows", coverage.rows);
    close('}');
  }

  void write_one_sided(std::size_t side) {
    key("only_" + std::string(kSides[side]));
    open('[');
    for (const std::uint32_t group : report_->only(side).groups) {
      if (!has_room()) continue;
      comma();
      open('{');
      write_group(report_->grouping().names[group]);
      number_member("threads", report_->grouping().sides[side].threads(group));
      key("values");
      write_values(side, group);
      close('}');
      flush();
    }
    close(']');
  }

  void write_values(std::size_t side, std::uint32_t group) {
    open('[');
    for (const std::uint32_t metric : report_->weightiest(side, group)) {
      const PlannedMetric& planned = report_->metrics()[metric];
      if (!has_room()) continue;
      comma();
      open('{');
      text_member("section", planned.section);
      text_member("metric", planned.name);
      text_member("unit", unit_told(planned.unit));
      key("value");
      report_->rollup().append_json(out_, {side, group, metric});
      write_coverage("coverage", {side, group, metric});
      close('}');
    }
    close(']');
  }

  void write_renames() {
    key("renamed_cgroups");
    open('[');
    for (std::size_t i = 0; i < renames_told(); ++i) {
      const CgroupRename& rename = report_->grouping().renames[i];
      if (!has_room()) continue;
      comma();
      open('{');
      text_member("baseline", rename.baseline);
      text_member("candidate", rename.candidate);
      text_member("baseline_root", rename.baseline_root);
      text_member("candidate_root", rename.candidate_root);
      number_member("kinds_in_common", rename.in_common);
      number_member("kinds_in_all", rename.in_all);
      write_kinds("only_baseline", rename.only_baseline);
      write_kinds("only_candidate", rename.only_candidate);
      write_below(rename);
      close('}');
    }
    close(']');
  }
  std::size_t renames_told() const {
    const std::size_t all = report_->grouping().renames.size(), limit = report_->spec().limit;
    return limit ? std::min(limit, all) : all;
  }

  void write_kinds(std::string_view name, const std::vector<ThreadKind>& kinds) {
    key(name);
    open('[');
    for (const ThreadKind& kind : kinds) {
      comma();
      open('{');
      text_member("pcomm", kind.pcomm);
      text_member("comm", kind.comm);
      close('}');
    }
    close(']');
  }

  void write_below(const CgroupRename& rename) {
    key("below");
    open('[');
    for (const auto& [before, after] : rename.below) {
      comma();
      open('{');
      text_member("baseline", before);
      text_member("candidate", after);
      close('}');
    }
    close(']');
  }

  void write_host_diff() {
    key("host_diff");
    const auto differences = host_differences(*report_->sides()[0], *report_->sides()[1]);
    if (!differences) return raw("null");
    open('[');
    for (const HostDifference& difference : *differences) {
      if (!has_room()) continue;
      comma();
      open('{');
      text_member("key", difference.key);
      key("baseline");
      append_made_json(out_, difference.baseline.value_or("null"));
      key("candidate");
      append_made_json(out_, difference.candidate.value_or("null"));
      close('}');
    }
    close(']');
  }

  // Rows and groups beyond the limit, where there are any.
  void write_cut() {
    key("cut");
    open('{');
    for (const Section& section : report_->sections())
      if (section.cut) number_member(section.name, section.cut);
    if (report_->failed().cut) number_member("failed", report_->failed().cut);
    for (std::size_t side = 0; compares_ && side < 2; ++side)
      if (report_->only(side).cut)
        number_member("only_" + std::string(kSides[side]), report_->only(side).cut);
    if (const std::size_t cut = report_->grouping().renames.size() - renames_told())
      number_member("renamed_cgroups", cut);
    close('}');
  }

  void write_notes() {
    key("notes");
    open('[');
    for (const std::string& note : report_->notes()) {
      comma();
      append_json(out_, note);
    }
    if (left_out_ > 0) {
      comma();
      append_json(out_, left_out_in_words(left_out_));
    }
    close(']');
  }

  const Report* report_;
  std::span<const std::string> files_;
  Sink* sink_;
  Result<void> handed_on_;
  bool compares_;
  bool first_ = true;
  std::string out_;
  Allowance allowance_;
  std::size_t paid_ = 0;      // bytes of `out_` that are spent of it
  std::size_t left_out_ = 0;  // rows that it had no room for
};

}  // namespace

std::string left_out_in_words(std::size_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row is" : " rows are") +
         " left out: told in full, files of this size would make too much output; --metrics, "
         "--sections, --where or --limit ask "
         "for less";
}

std::string_view unit_told(std::string_view unit) {
  return unit == "centipercent" ? "percent" : unit;
}

Result<void> write_report_json(const Report& report, std::span<const std::string> files,
                               Sink& sink) {
  return Writer(report, files, sink).write();
}

}  // namespace ctprof
