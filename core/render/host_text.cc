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

#include "core/compare/asked/spec.hpp"
#include "core/compare/report/rows.hpp"
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

// What differs between the baseline's host and a side's.
std::string told_differences(std::vector<HostDifference> differences, std::size_t side,
                             const TextLayout& layout) {
  std::stable_sort(differences.begin(), differences.end(),
                   [](const HostDifference& a, const HostDifference& b) {
                     return place_of(a.key) < place_of(b.key);
                   });
  TextTable table({{"host", Align::Left, 12, false},
                   {"baseline", Align::Left, 12, false},
                   {side_name(side), Align::Left, 12, false}});
  for (std::size_t i = 0; i < std::min(differences.size(), kMostLines); ++i)
    table.add(row_of(differences[i]));
  std::string out;
  table.append_to(out, layout);
  if (differences.size() > kMostLines)
    out += counted(differences.size() - kMostLines, "more difference") + " in --format json\n";
  return out;
}

// The rows of one side, which an opening row says whether there can be.
struct Hosts {
  std::size_t side = 0;
  bool is_known = false;
  std::vector<HostDifference> differences{};
};

}  // namespace

std::string host_text(const Report& report, const TextLayout& layout) {
  std::vector<Hosts> all;
  tell(report, RowKind::Hosts, [&](const ReportRow& row) {
    if (row.kind == RowKind::Hosts)
      all.push_back({row.side, row.is_known});
    else
      all.back().differences.push_back(*row.difference);
  });
  std::string out;
  for (Hosts& hosts : all) {
    const bool same_boot = report.one_boot(hosts.side).known();
    if (!hosts.is_known)
      out += "host context unavailable\n";
    else if (hosts.differences.empty())
      out += same_boot ? "" : "host contexts are alike\n";
    else
      out += told_differences(std::move(hosts.differences), hosts.side, layout);
  }
  return out;
}

}  // namespace ctprof
