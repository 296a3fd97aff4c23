#include "core/render/evidence_json.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/compare/report/frame_evidence.hpp"
#include "core/render/report_sentences.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {
namespace {

class EvidenceWriter {
 public:
  EvidenceWriter(JsonBuilder& json, const Report& report,
                 const std::function<bool()>& may_write_row)
      : json_(&json), report_(&report), may_write_row_(&may_write_row) {}

  void write() {
    json_->key("evidence");
    json_->open('[');
    for (std::size_t side = 1; side < report_->sides().size(); ++side)
      if (const auto& design = report_->families().design(side)) write_side(side, design->design);
    json_->close(']');
  }

 private:
  void write_side(std::size_t side, const statistics::Design& design) {
    const SignificanceThreshold& threshold = report_->spec().significance;
    const Evidence& details = *report_->families().get_details_evidence();
    const Evidence* headlines = report_->families().headlines();
    const statistics::Labellings& labellings = details.family(side)->labellings();
    const bool are_all = labellings.are_all();
    json_->open_item();
    json_->text_member("side", side_name(side));
    json_->flag_member("paired", design.is_paired);
    json_->number_member("runs_baseline", design.baseline);
    json_->number_member("runs_candidate", design.candidate);
    json_->number_member("labellings",
                         are_all ? statistics::count_labellings(design) : labellings.size());
    json_->flag_member("all_labellings", are_all);
    write_number("alpha", threshold.alpha);
    write_number("min_shift", threshold.min_shift);
    write_number("smallest_p", statistics::compute_smallest_p(design));
    json_->key("enough_runs");
    const auto required_runs = statistics::compute_required_runs(threshold.alpha, design.is_paired);
    required_runs ? json_->number(make_number(std::uint64_t{*required_runs})) : json_->raw("null");
    json_->flag_member("one_after_other",
                       are_separate_in_time(report_->runs(0), report_->runs(side)));
    json_->number_member("headline_rows", headlines ? headlines->rows(side).size() : 0);
    json_->number_member("detail_rows", details.rows(side).size());
    write_rows("headlines", headlines, side);
    write_rows("details", &details, side);
    write_functions(side);
    write_about(side);
    json_->close('}');
  }

  void write_rows(std::string_view name, const Evidence* evidence, std::size_t side) {
    json_->key(name);
    json_->open('[');
    const std::size_t rows = evidence ? evidence->rows(side).size() : 0;
    const auto test_results =
        evidence ? evidence->results(side) : std::vector<std::optional<RowTestResult>>{};
    for (std::size_t at = 0; at < rows && (*may_write_row_)(); ++at) {
      const RowFigures row = evidence->figures(at, side);
      json_->open_item();
      write_group(*json_,
                  report_->grouping().name(report_->metrics()[row.metric].entity, row.group));
      json_->text_member("metric", report_->metrics()[row.metric].name);
      write_row_end(row.floor, row.resolution, row.runs, test_results[at]);
    }
    json_->close(']');
  }

  void write_about(std::size_t side) {
    json_->key("about");
    const Evidence* about = report_->families().get_about_evidence();
    if (!about) return json_->raw("null");
    json_->open('{');
    json_->text_member("condition", report_->spec().about->text());
    json_->flag_member("chosen_afterwards", report_->may_about_follow_comparison());
    write_rows("headlines", about, side);
    json_->close('}');
  }

  void write_functions(std::size_t side) {
    json_->key("functions");
    json_->open('[');
    if (report_->stacks() && report_->stacks()->is_tested())
      report_->stacks()->evidence().visit(side, [&](const TestedFunction& row) {
        if ((*may_write_row_)()) write_function(row);
      });
    json_->close(']');
  }

  void write_function(const TestedFunction& row) {
    const StackFunction& function = report_->stacks()->common_stacks().functions()[row.function];
    json_->open_item();
    write_group(*json_, report_->grouping().names[row.at.group]);
    json_->text_member("metric", report_->metrics()[row.at.metric].name);
    json_->key("name");
    function.name.empty() ? json_->raw("null") : json_->text(function.name);
    json_->text_member("module", function.module);
    json_->key("offset");
    function.name.empty() ? json_->number(function.offset) : json_->raw("null");
    write_row_end(row.floor, row.resolution, row.runs, row.test_result);
  }

  // Writes the rest of the row's object.
  void write_row_end(double floor, double resolution, std::span<const double> runs,
                     const std::optional<RowTestResult>& test_result) {
    write_number("floor", floor);
    write_number("resolution", resolution);
    json_->key("figures");
    json_->open('[');
    for (const double figure : runs) {
      json_->comma();
      json_->number(figure);
    }
    json_->close(']');
    write_test_result(*json_, test_result, 1);
    write_number("p_alone", test_result ? test_result->unadjusted_p : std::nan(""));
    json_->close('}');
  }

  void write_number(std::string_view name, double value) {
    json_->key(name);
    json_->number(value);
  }

  JsonBuilder* json_;
  const Report* report_;
  const std::function<bool()>* may_write_row_;
};

}  // namespace

void write_evidence(JsonBuilder& json, const Report& report,
                    const std::function<bool()>& may_write_row) {
  EvidenceWriter(json, report, may_write_row).write();
}

}  // namespace ctprof
