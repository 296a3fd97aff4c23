#include "core/render/host_text.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/compare/figures/host_diff.hpp"
#include "core/render/heading.hpp"
#include "core/render/printable.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostLines = 9;
constexpr std::size_t kMostWidth = 60;
constexpr std::string_view kCommandLine = "kernel_cmdline";
// What comes first, by how keys begin. What is not named follows.
constexpr std::string_view kFirst[] = {"kernel_release",    kCommandLine,     "sched_tunables.",
                                       "cpu_model",         "online_cpus",    "numa_nodes",
                                       "total_memory_kib",  "thp_enabled",    "thp_defrag",
                                       "cpufreq_governor.", "task_delayacct", "arch",
                                       "kernel_name",       "hugepages_total"};

std::size_t place_of(std::string_view key) {
  const auto it = std::find_if(std::begin(kFirst), std::end(kFirst),
                               [&](std::string_view first) { return key.starts_with(first); });
  return static_cast<std::size_t>(it - std::begin(kFirst));
}

// A member as people read it: a text without its quotes.
std::string text_of(const std::optional<std::string>& json) {
  if (!json) return {};
  boost::system::error_code problem;
  const boost::json::value value = boost::json::parse(*json, problem);
  return !problem && value.is_string() ? std::string(value.get_string()) : *json;
}

// The words of `text` that `other` lacks: command lines are long, and mostly alike.
std::string words_lacking(const std::string& text, const std::string& other) {
  std::istringstream of_text(text), of_other(other);
  const std::set<std::string> known(std::istream_iterator<std::string>(of_other), {});
  std::string lacking;
  for (std::string word; of_text >> word;)
    if (!known.contains(word)) lacking += (lacking.empty() ? "" : " ") + word;
  return lacking;
}

std::string told(const std::string& text) {
  return text.empty() ? "-" : shortened(printable(text), kMostWidth);
}

std::vector<TextCell> row_of(const HostDifference& difference) {
  std::string before = text_of(difference.baseline), after = text_of(difference.candidate);
  if (difference.key == kCommandLine) {
    const std::string only_after = words_lacking(after, before);
    before = words_lacking(before, after);
    after = only_after;
    // The same words in another order.
    if (before.empty() && after.empty()) before = after = "(reordered)";
  }
  return {{told_name(difference.key)}, {told(before)}, {told(after)}};
}

}  // namespace

std::string host_text(const Report& report, const TextLayout& layout) {
  auto differences = host_differences(*report.sides()[0], *report.sides()[1]);
  if (!differences) return "host context unavailable\n";
  if (differences->empty()) return report.lives().known() ? "" : "host contexts are alike\n";
  std::stable_sort(differences->begin(), differences->end(),
                   [](const HostDifference& a, const HostDifference& b) {
                     return place_of(a.key) < place_of(b.key);
                   });
  TextTable table({{"host", Align::Left, 12, false},
                   {"baseline", Align::Left, 12, false},
                   {"candidate", Align::Left, 12, false}});
  for (std::size_t i = 0; i < std::min(differences->size(), kMostLines); ++i)
    table.add(row_of((*differences)[i]));
  std::string out;
  table.append_to(out, layout);
  if (differences->size() > kMostLines)
    out += counted(differences->size() - kMostLines, "more difference") + " in --format json\n";
  return out;
}

}  // namespace ctprof
