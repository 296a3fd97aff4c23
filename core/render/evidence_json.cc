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
  EvidenceWriter(JsonPieces& json, const Report& report, const std::function<bool()>& may_go_on)
      : json_(&json), report_(&report), may_go_on_(&may_go_on) {}

  void write() {
    json_->key("evidence");
    json_->open('[');
    for (std::size_t side = 1; side < report_->sides().size(); ++side)
      if (const auto& design = report_->families().design(side)) write_side(side, design->design);
    json_->close(']');
  }

 private:
  void write_side(std::size_t side, const statistics::Design& design) {
    const Bar& bar = report_->spec().bar;
    const Evidence& details = *report_->families().details();
    const Evidence* headlines = report_->families().headlines();
    const statistics::Labellings& labellings = details.family(side)->labellings();
    const bool are_all = labellings.are_all();
    json_->open_item();
    json_->text_member("side", side_name(side));
    json_->flag_member("paired", design.paired);
    json_->number_member("runs_baseline", design.baseline);
    json_->number_member("runs_candidate", design.candidate);
    json_->number_member("labellings", are_all ? statistics::ways(design) : labellings.size());
    json_->flag_member("all_labellings", are_all);
    number("alpha", bar.alpha);
    number("min_shift", bar.min_shift);
    number("smallest_p", statistics::smallest_p(design));
    json_->key("enough_runs");
    const auto enough = statistics::enough_runs(bar.alpha, design.paired);
    enough ? json_->number(number_of(std::uint64_t{*enough})) : json_->raw("null");
    json_->flag_member("one_after_other",
                       are_one_after_other(report_->runs(0), report_->runs(side)));
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
    const auto proofs = evidence ? evidence->proofs(side) : std::vector<std::optional<Proof>>{};
    for (std::size_t at = 0; at < rows && (*may_go_on_)(); ++at) {
      const RowFigures row = evidence->figures(at, side);
      json_->open_item();
      write_group(*json_,
                  report_->grouping().name(report_->metrics()[row.metric].entity, row.group));
      json_->text_member("metric", report_->metrics()[row.metric].name);
      write_row(row.floor, row.resolution, row.runs, proofs[at]);
    }
    json_->close(']');
  }

  void write_about(std::size_t side) {
    json_->key("about");
    const Evidence* about = report_->families().about();
    if (!about) return json_->raw("null");
    json_->open('{');
    json_->text_member("condition", report_->spec().about->text());
    json_->flag_member("chosen_afterwards", report_->is_about_chosen_afterwards());
    write_rows("headlines", about, side);
    json_->close('}');
  }

  void write_functions(std::size_t side) {
    json_->key("functions");
    json_->open('[');
    if (report_->stacks() && report_->stacks()->judges())
      report_->stacks()->evidence().visit(side, [&](const JudgedFunction& row) {
        if ((*may_go_on_)()) write_function(row);
      });
    json_->close(']');
  }

  void write_function(const JudgedFunction& row) {
    const StackFunction& function = report_->stacks()->book().functions()[row.function];
    json_->open_item();
    write_group(*json_, report_->grouping().names[row.at.group]);
    json_->text_member("metric", report_->metrics()[row.at.metric].name);
    json_->key("name");
    function.name.empty() ? json_->raw("null") : json_->text(function.name);
    json_->text_member("module", function.module);
    json_->key("offset");
    function.name.empty() ? json_->number(function.offset) : json_->raw("null");
    write_row(row.floor, row.resolution, row.runs, row.proof);
  }

  // Writes the rest of the row's object.
  void write_row(double floor, double resolution, std::span<const double> runs,
                 const std::optional<Proof>& proof) {
    number("floor", floor);
    number("resolution", resolution);
    json_->key("figures");
    json_->open('[');
    for (const double figure : runs) {
      json_->comma();
      json_->number(figure);
    }
    json_->close(']');
    write_proof(*json_, proof, 1);
    number("p_alone", proof ? proof->p_alone : std::nan(""));
    json_->close('}');
  }

  void number(std::string_view name, double value) {
    json_->key(name);
    json_->number(value);
  }

  JsonPieces* json_;
  const Report* report_;
  const std::function<bool()>* may_go_on_;
};

}  // namespace

void write_evidence(JsonPieces& json, const Report& report,
                    const std::function<bool()>& may_go_on) {
  EvidenceWriter(json, report, may_go_on).write();
}

}  // namespace ctprof
