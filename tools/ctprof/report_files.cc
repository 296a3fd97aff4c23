#include "tools/ctprof/report_files.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/workers.hpp"
#include "core/file/file.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

Result<std::vector<Snapshot>> load_all(std::span<const std::string> files,
                                       const Vocabulary& vocabulary) {
  std::vector<std::optional<Result<Snapshot>>> loaded(files.size());
  share(static_cast<unsigned>(files.size()), files.size(), [&](unsigned, std::size_t i) {
    loaded[i] =
        naming(files.subspan(i, 1), "reading", [&] { return load_file(files[i], vocabulary); });
  });
  std::vector<Snapshot> snapshots;
  for (auto& one : loaded) {
    if (!*one) return one->error();
    snapshots.push_back(std::move(**one));
  }
  return snapshots;
}

bool needs_rule_of_plugin(const Snapshot& snapshot) {
  const RuleBook built_in;
  return std::any_of(snapshot.tables.begin(), snapshot.tables.end(), [&](const Table& table) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& column) { return !built_in.find(column.def().rule); });
  });
}

bool needs_plugins(const Snapshot& snapshot) {
  return snapshot.foreign || needs_rule_of_plugin(snapshot);
}

std::vector<DerivedDef> derived_of_layouts(const Registry& layouts) {
  std::vector<DerivedDef> derived;
  for (const Plugin& plugin : layouts.plugins())
    derived.insert(derived.end(), plugin.derived.begin(), plugin.derived.end());
  return derived;
}

}  // namespace

Result<ReportFiles> ReportFiles::load(std::span<const std::string> files, const Options& options) {
  auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  ReportFiles loaded(std::move(*layouts));
  auto snapshots = load_all(files, loaded.layouts_.vocabulary());
  if (!snapshots) return snapshots.error();
  loaded.snapshots_ = std::move(*snapshots);
  for (const Snapshot& snapshot : loaded.snapshots_)
    for (const std::string& sentence : snapshot.told) note(options, sentence);
  if (std::none_of(loaded.snapshots_.begin(), loaded.snapshots_.end(), needs_plugins)) {
    loaded.derived_ = derived_of_layouts(loaded.layouts_);
    return loaded;
  }
  auto all = load_registry(options);
  if (!all) return all.error();
  loaded.all_.emplace(std::move(*all));
  return loaded;
}

Knowledge ReportFiles::knowledge() const {
  if (all_) return {&all_->rules(), all_->derived()};
  return {&layouts_.rules(), derived_};
}

}  // namespace ctprof::cli
