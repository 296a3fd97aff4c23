#include "core/render/report_json.hpp"

#include "core/base/text.hpp"
#include "core/compare/figures/allowance.hpp"
#include "core/compare/request/spec.hpp"
#include "core/render/evidence_json.hpp"
#include "core/render/row_json.hpp"
#include "core/render/screen_json.hpp"
#include "core/render/sides_json.hpp"
#include "core/render/stacks_json.hpp"

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
    const auto flush_and_check = [&] {
      flush();
      return check_allowance();
    };
    write_sides(json_, *report_, files_, flush_and_check);
    json_.text_member("group_by", axis_word(report_->spec()));
    if (report_->is_comparison()) write_evidence(json_, *report_, flush_and_check);
    if (report_->screen()) write_screen(json_, *report_, flush_and_check);
    if (report_->stacks()) write_stacks(json_, *report_, flush_and_check);
    write_rows("rows", visit_sections);
    if (!report_->spec().fail_on.empty()) write_rows("failed", visit_fail_on_section);
    if (report_->is_comparison()) {
      write_one_sided();
      write_renames();
      write_host_differences(json_, *report_, flush_and_check);
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

  void write_rows(std::string_view name, void (*visit)(const Report&, const SectionVisitor&)) {
    json_.key(name);
    json_.open('[');
    visit(*report_, {.add_row = [&](const MetricRow& row) {
      if (!check_allowance()) return;
      write_metric_row(json_, *report_, row);
      flush();
    }});
    json_.close(']');
  }

  void write_one_sided() {
    bool in_side = false, in_group = false;
    const auto end_group = [&] {
      if (in_group) json_.close(']'), json_.close('}'), flush();
      in_group = false;
    };
    const auto begin_side = [&](std::size_t side) {
      end_group();
      if (in_side) json_.close(']');
      json_.key("only_" + side_name(side));
      json_.open('[');
      in_side = true;
    };
    const auto begin_group = [&](const OneSidedGroup& group) {
      end_group();
      in_group = check_allowance();
      if (in_group) write_group_start(group);
    };
    const auto add_figure = [&](std::size_t side, const MetricRow& row) {
      if (in_group && check_allowance()) write_figure(json_, *report_, side, row);
    };
    visit_one_sided_groups(*report_, {begin_side, begin_group, add_figure});
    end_group();
    if (in_side) json_.close(']');
  }

  void write_group_start(const OneSidedGroup& group) {
    json_.open_item();
    write_group(json_, group.name);
    json_.count_member("threads", group.threads);
    json_.key("values");
    json_.open('[');
  }

  void write_renames() {
    json_.key("renamed_cgroups");
    json_.open('[');
    for (const CgroupRename& rename : get_shown_renames(*report_)) {
      ++renames_written_;
      if (check_allowance()) write_rename(json_, rename);
    }
    json_.close(']');
  }

  // Writes the numbers of rows and groups beyond the limit.
  void write_cut() {
    json_.key("cut");
    json_.open('{');
    for (const Section& section : report_->sections())
      if (section.over_limit) json_.number_member(section.name, section.over_limit);
    if (report_->fail_on_section().over_limit)
      json_.number_member("failed", report_->fail_on_section().over_limit);
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
    if (report_->fail_on_section().keys_over_limit)
      json_.number_member("failed", report_->fail_on_section().keys_over_limit);
    json_.close('}');
  }

  void write_notes() {
    json_.key("notes");
    json_.open('[');
    for (const std::string& note : report_->notes()) {
      json_.comma();
      json_.text(note);
    }
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
