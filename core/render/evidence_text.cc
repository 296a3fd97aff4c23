#include "core/render/evidence_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/compare/asked/spec.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "core/statistics/labellings.hpp"

namespace ctprof {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

constexpr std::string_view kSingleRun =
    " cannot show which differences are significant: record several with `ctprof record --repeat "
    "8 -o DIR`";

// Shifts from this factor on are shown as factors.
constexpr double kFactorsFrom = 10;

// Returns a fraction in percent, such as "+15" or "-3.1".
std::string signed_percent(double fraction) {
  const double percent = fraction * 100;
  return formatted(std::abs(percent) < 9.95 ? "%+.1f" : "%+.0f", percent);
}

std::string factor(double shift) { return formatted(shift < 99 ? "x%.1f" : "x%.3g", 1 + shift); }

// Returns "8 + 8 runs" or "8 pairs of runs".
std::string runs_in_words(const statistics::Design& design) {
  if (design.paired) return counted(design.baseline, "pair") + " of runs";
  return std::to_string(design.baseline) + " + " + std::to_string(design.candidate) + " runs";
}

// Returns for example "all 256 labellings".
std::string labellings_in_words(const statistics::Labellings& labellings) {
  if (!labellings.are_all()) return std::to_string(labellings.size()) + " random labellings";
  return "all " + std::to_string(statistics::ways(labellings.design())) + " labellings";
}

std::string enough_in_words(const statistics::Design& design, double alpha) {
  const auto enough = statistics::enough_runs(alpha, design.paired);
  if (!enough) return "; no number of runs is enough";
  return "; " + std::to_string(*enough) + (design.paired ? " pairs are" : " runs per side are") +
         " enough";
}

// Returns why rows with a small p are not marked as significant.
std::string hidden_rows(const Report& report, std::size_t side, const Evidence& evidence) {
  const Bar& bar = report.spec().bar;
  const std::size_t hidden = bar.min_shift > 0 ? evidence.below_least_shift(side) : 0;
  if (hidden == 0) return {};
  return "; " + counted(hidden, "row") + " with p of at most " + p_text(bar.alpha) +
         (hidden == 1 ? " is" : " are") + " not significant only because of --min-shift " +
         formatted("%g", bar.min_shift * 100) + "%";
}

std::string judged(const Report& report, std::size_t side, const statistics::Family& family) {
  const statistics::Design& design = family.labellings().design();
  const Bar& bar = report.spec().bar;
  const std::string alpha = p_text(bar.alpha);
  const std::string who = report.sides().size() > 2 ? side_name(side) + ": " : "";
  if (statistics::smallest_p(design) > bar.alpha)
    return who + runs_in_words(design) + " are too few for a significant difference at " + alpha +
           enough_in_words(design, bar.alpha);
  std::string text = who + std::string(kNotProven) + ": not significant with " +
                     runs_in_words(design) + " at " + alpha;
  if (bar.min_shift > 0)
    text += " for a shift of " + formatted("%g", bar.min_shift * 100) + "% or more";
  return text + " (" + labellings_in_words(family.labellings()) + "; p is adjusted for " +
         counted(family.rows(), "row") + ", intervals are not)";
}

const Evidence* evidence_of(const Report& report, bool of_screen) {
  Families& families = report.families();
  return of_screen ? families.headlines() : families.details();
}

// Returns whether any side has enough runs for a significant result.
bool can_prove(const Report& report) {
  return std::ranges::any_of(report.families().designs(), [&](const auto& design) {
    return design && statistics::smallest_p(design->design) <= report.spec().bar.alpha;
  });
}

bool is_any_proven(const Report& report, bool of_screen) {
  if (!of_screen) return report.families().any_detail_proven();
  return std::ranges::any_of(report.screen()->rows, &ScreenRow::is_proven);
}

// Returns for example "--about group == "svc": 2 of 7 rows are significant by 8 pairs of runs ...".
std::string about_side(const Report& report, std::size_t side, const Evidence& evidence,
                       const statistics::Family& family) {
  const Bar& bar = report.spec().bar;
  const auto proofs = evidence.proofs(side);
  const auto proven = static_cast<std::size_t>(
      std::ranges::count_if(proofs, [](const auto& proof) { return proof && proof->proven; }));
  std::string text = "--about " + printable(report.spec().about->text()) + ": " +
                     (report.sides().size() > 2 ? side_name(side) + ": " : "") +
                     std::to_string(proven) + " of " + counted(family.rows(), "row") +
                     (proven == 1 ? " is" : " are") + " significant by " +
                     runs_in_words(family.labellings().design()) + " at " + p_text(bar.alpha) +
                     " (p is adjusted for these " + counted(family.rows(), "row") + " only)" +
                     hidden_rows(report, side, evidence);
  if (report.is_about_chosen_afterwards())
    text +=
        "; chosen afterwards? These runs were compared before without this --about; if that result "
        "led to this selection, p is too small: record new runs";
  return text;
}

}  // namespace

std::string shift_text(double shift) {
  if (!std::isfinite(shift)) return "-";
  return shift >= kFactorsFrom - 1 ? factor(shift) : signed_percent(shift) + "%";
}

std::string shift_text(const Proof& proof) {
  const std::string text = shift_text(proof.shift);
  if (!std::isfinite(proof.low) || !std::isfinite(proof.high)) return text;
  std::string low = end_text(proof, proof.low), high = end_text(proof, proof.high);
  for (std::string* end : {&low, &high})
    if (end->ends_with('%')) end->pop_back();
  return text + " (" + low + " to " + high + ")";
}

std::string end_text(const Proof& proof, double end) {
  return proof.shift >= kFactorsFrom - 1 ? factor(end) : signed_percent(end) + "%";
}

std::string order_sentence(const Report& report, std::size_t side) {
  const auto& design = report.families().design(side);
  if (!design || !are_one_after_other(report.runs(0), report.runs(side))) return {};
  return "all runs of the " + side_name(0) + " and of the " + side_name(side) +
         " were taken one side after the other: other changes over time affect the result "
         "(record --interleave alternates the sides)";
}

std::string p_text(double p) { return formatted(p < 0.001 ? "%.1g" : "%.2g", p); }

std::string evidence_text(const Report& report, bool of_screen, std::size_t width) {
  std::string out;
  const Evidence* evidence = evidence_of(report, of_screen);
  for (std::size_t side = 1; evidence && side < report.sides().size(); ++side)
    if (const statistics::Family* family = evidence->family(side))
      out += wrapped(judged(report, side, *family) + hidden_rows(report, side, *evidence), width);
  if (evidence && can_prove(report) && !is_any_proven(report, of_screen))
    out += wrapped(
        "no row is significant; rows are ordered by the p that each has by itself. To test one "
        "group by itself, record new runs, then use --about",
        width);
  return out;
}

std::string about_text(const Report& report, std::size_t width) {
  const Evidence* evidence = report.families().about();
  if (!evidence) return {};
  std::string out;
  for (std::size_t side = 1; side < report.sides().size(); ++side)
    if (const statistics::Family* family = evidence->family(side))
      out += wrapped(about_side(report, side, *evidence, *family), width);
  return out;
}

std::string order_text(const Report& report, std::size_t width) {
  std::string out;
  const bool are_windows = report.sides().front().window.has_value();
  for (std::size_t side = 0; report.compares() && are_windows && side < report.sides().size();
       ++side)
    if (report.runs(side).size() == 1)
      return wrapped((tells_several_runs(report) ? "a side of one run" : "one run per side") +
                         std::string(kSingleRun),
                     width);
  for (std::size_t side = 1; side < report.sides().size(); ++side) {
    const std::string said = order_sentence(report, side);
    if (!said.empty()) out += wrapped(said, width);
  }
  return out;
}

}  // namespace ctprof
