#include "core/render/report_json.hpp"

#include "core/base/text.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/evidence_json.hpp"
#include "core/render/row_json.hpp"
#include "core/render/screen_json.hpp"
#include "core/render/stacks_json.hpp"
#include "core/render/window_text.hpp"

namespace ctprof {
namespace {

class ReportJsonWriter {
 public:
  ReportJsonWriter(const Report& report, std::span<const std::string> files, Sink& sink)
      : report_(&report), files_(files), sink_(&sink), json_(out_), allowance_(report.sides()) {}

  Result<void> write() {
    json_.open('{');
    json_.key("schema");
    json_.raw(std::to_string(kReportSchema));
    for (std::size_t side = 0; side < report_->sides().size(); ++side) write_side(side);
    json_.text_member("group_by", axis_word(report_->spec()));
    const auto flush_and_check = [&] {
      flush();
      return check_allowance();
    };
    if (report_->is_comparison()) write_evidence(json_, *report_, flush_and_check);
    if (report_->screen()) write_screen(json_, *report_, flush_and_check);
    if (report_->stacks()) write_stacks(json_, *report_, flush_and_check);
    write_rows("rows", RowKind::Section, RowKind::Metric);
    if (!report_->spec().fail_on.empty())
      write_rows("failed", RowKind::FailedMetric, RowKind::FailedMetric);
    if (report_->is_comparison()) {
      write_one_sided();
      write_renames();
      write_host_facts();
    }
    write_cut();
    write_cut_keys();
    write_notes();
    json_.close('}');
    out_ += '\n';
    write_buffer();
    return write_result_;
  }

 private:
  void flush() {
    if (out_.size() < Sink::kFlushBytes) return;
    charge_allowance();
    write_buffer();
  }
  void write_buffer() {
    if (write_result_) write_result_ = sink_->write(out_);
    out_.clear();
    charged_bytes_ = 0;
  }
  void charge_allowance() {
    allowance_.spend(out_.size() - charged_bytes_);
    charged_bytes_ = out_.size();
  }
  // Returns whether the allowance covers another row of any table; if not, counts the row.
  bool check_allowance() {
    charge_allowance();
    omitted_rows_ += allowance_.is_spent();
    return !allowance_.is_spent();
  }

  void write_side(std::size_t side) {
    const RunFacts& first = report_->sides()[side];
    const auto runs = report_->runs(side);
    json_.key(report_->is_comparison() ? side_name(side) : "snapshot");
    json_.open('{');
    json_.text_member("file", files_[side]);
    write_run(first);
    if (runs.size() > 1) write_runs(runs);
    json_.close('}');
  }

  void write_runs(std::span<const RunFacts> runs) {
    json_.key("runs");
    json_.open('[');
    for (const RunFacts& run : runs) {
      if (!check_allowance()) continue;
      json_.open_item();
      write_run(run);
      json_.close('}');
      flush();
    }
    json_.close(']');
  }

  void write_run(const RunFacts& run) {
    json_.key("hostname");
    run.meta.hostname ? json_.text(*run.meta.hostname) : json_.raw("null");
    json_.text_member("boot_id", run.meta.boot_id);
    json_.number_member("start_unix_ns", run.meta.start.wall_unix_ns);
    json_.number_member("threads", run.threads());
    json_.number_member("processes", run.processes());
    write_takeovers(run.meta.takeovers);
    if (run.window) write_window(json_, run);
  }

  void write_takeovers(const std::vector<Takeover>& takeovers) {
    json_.key("takeovers");
    json_.open('[');
    for (const Takeover& takeover : takeovers) {
      if (!check_allowance()) continue;
      json_.open_item();
      json_.text_member("plugin", takeover.plugin);
      json_.texts_member("metrics", takeover.metrics);
      json_.close('}');
    }
    json_.close(']');
  }

  void write_rows(std::string_view name, RowKind visited_kind, RowKind written_kind) {
    json_.key(name);
    json_.open('[');
    visit_rows(*report_, visited_kind, [&](const ReportRow& row) {
      if (row.kind != written_kind || !check_allowance()) return;
      write_metric_row(json_, *report_, row);
      flush();
    });
    json_.close(']');
  }

  void write_one_sided() {
    bool in_side = false, in_group = false;
    const auto end_group = [&] {
      if (in_group) json_.close(']'), json_.close('}'), flush();
      in_group = false;
    };
    visit_rows(*report_, RowKind::OneSidedHeader, [&](const ReportRow& row) {
      if (row.kind == RowKind::Figure) {
        if (in_group && check_allowance()) write_figure(json_, *report_, row);
        return;
      }
      end_group();
      if (row.kind == RowKind::OneSidedHeader) {
        if (in_side) json_.close(']');
        json_.key("only_" + side_name(row.side));
        json_.open('[');
        in_side = true;
      } else if (check_allowance()) {
        write_group_start(row);
        in_group = true;
      }
    });
    end_group();
    if (in_side) json_.close(']');
  }

  void write_group_start(const ReportRow& row) {
    json_.open_item();
    write_group(json_, row.group);
    json_.count_member("threads", row.sides.front().threads);
    json_.key("values");
    json_.open('[');
  }

  void write_renames() {
    json_.key("renamed_cgroups");
    json_.open('[');
    visit_rows(*report_, RowKind::RenamedCgroup, [&](const ReportRow& row) {
      ++renames_written_;
      if (check_allowance()) write_rename(json_, *row.rename);
    });
    json_.close(']');
  }

  // Writes null if a file has no context to compare.
  void write_host_facts() {
    bool is_open = false;
    const auto end = [&] {
      if (is_open) json_.close(']');
    };
    visit_rows(*report_, RowKind::HostsHeader, [&](const ReportRow& row) {
      if (row.kind == RowKind::HostFact) {
        if (check_allowance()) write_difference(*row.difference);
        return;
      }
      end();
      json_.key(row.side == 1 ? "host_diff" : "host_diff_" + std::to_string(row.side));
      is_open = row.are_hosts_known;
      is_open ? json_.open('[') : json_.raw("null");
    });
    end();
  }

  void write_difference(const HostDifference& difference) {
    json_.open_item();
    json_.text_member("key", difference.key);
    json_.key("baseline");
    append_existing_json(out_, difference.baseline.front().json.value_or("null"));
    json_.key("candidate");
    append_existing_json(out_, difference.candidate.front().json.value_or("null"));
    write_values("baseline_runs", difference.baseline);
    write_values("candidate_runs", difference.candidate);
    json_.close('}');
  }

  // Writes the values of a side whose runs differ.
  void write_values(std::string_view name, std::span<const HostValue> values) {
    if (values.size() < 2) return;
    json_.key(name);
    json_.open('[');
    for (const HostValue& value : values) {
      json_.open_item();
      json_.key("value");
      append_existing_json(out_, value.json.value_or("null"));
      json_.number_member("runs", value.runs);
      json_.close('}');
    }
    json_.close(']');
  }

  // Writes the numbers of rows and groups beyond the limit.
  void write_cut() {
    json_.key("cut");
    json_.open('{');
    for (const Section& section : report_->sections())
      if (section.over_limit) json_.number_member(section.name, section.over_limit);
    if (report_->failed_section().over_limit)
      json_.number_member("failed", report_->failed_section().over_limit);
    for (std::size_t side = 0; report_->is_comparison() && side < report_->sides().size(); ++side)
      if (report_->one_sided_groups(side).over_limit)
        json_.number_member("only_" + side_name(side), report_->one_sided_groups(side).over_limit);
    if (const std::size_t omitted = report_->grouping().renames.size() - renames_written_)
      json_.number_member("renamed_cgroups", omitted);
    json_.close('}');
  }

  // Writes the numbers of keys beyond the limit, in the last map of a section.
  void write_cut_keys() {
    json_.key("cut_keys");
    json_.open('{');
    for (const Section& section : report_->sections())
      if (section.keys_over_limit) json_.number_member(section.name, section.keys_over_limit);
    if (report_->failed_section().keys_over_limit)
      json_.number_member("failed", report_->failed_section().keys_over_limit);
    json_.close('}');
  }

  void write_notes() {
    json_.key("notes");
    json_.open('[');
    visit_rows(*report_, RowKind::Note, [&](const ReportRow& row) {
      json_.comma();
      json_.text(row.text);
    });
    if (omitted_rows_ > 0) {
      json_.comma();
      json_.text(describe_omitted_rows(omitted_rows_));
    }
    json_.close(']');
  }

  const Report* report_;
  std::span<const std::string> files_;
  Sink* sink_;
  Result<void> write_result_;
  std::string out_;
  JsonBuilder json_;
  Allowance allowance_;
  std::size_t charged_bytes_ = 0;  // bytes of `out_` that were charged to the allowance
  std::size_t omitted_rows_ = 0;   // rows beyond the allowance
  std::size_t renames_written_ = 0;
};

}  // namespace

std::string describe_omitted_rows(std::size_t rows) {
  return format_count(rows, "row") + (rows == 1 ? " is" : " are") +
         " omitted: the full output of files of this size would be too large; use --metrics, "
         "--sections, --where or --limit";
}

Result<void> write_report_json(const Report& report, std::span<const std::string> files,
                               Sink& sink) {
  return ReportJsonWriter(report, files, sink).write();
}

}  // namespace ctprof
