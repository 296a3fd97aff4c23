#include "core/compare/report/excluded_threads.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/compare/report/recorder_rows.hpp"
#include "core/registry/identity.hpp"
#include "core/window/roles.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxExcludedProcesses = 3;

}  // namespace

std::vector<ExcludedProcesses> find_busiest_excluded(const Snapshot& window,
                                                     const KeptRows& kept_rows) {
  const Column* run = find_role(window.threads().columns, "run-time");
  const Column* names = thread_column(window, kPcomm, Storage::String);
  if (!run || !names) return {};
  const RecorderRows recorder_rows(window);
  std::map<std::string_view, double> run_ns;
  for (std::size_t row = 0; row < kept_rows.size(); ++row)
    if (!kept_rows[row] && run->has_value(row) && names->has_value(row) &&
        !recorder_rows.contains(row))
      run_ns[window.pools->texts[names->ids()[row]]] += static_cast<double>(run->u64()[row]);
  std::vector<ExcludedProcesses> found;
  for (const auto& [name, ns] : run_ns) found.push_back({std::string(name), ns});
  std::ranges::stable_sort(found, std::greater(), &ExcludedProcesses::run_ns);
  found.resize(std::min(found.size(), kMaxExcludedProcesses));
  return found;
}

}  // namespace ctprof
