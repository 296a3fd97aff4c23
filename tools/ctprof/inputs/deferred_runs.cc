#include "tools/ctprof/inputs/deferred_runs.hpp"

#include <algorithm>
#include <utility>

#include "core/file/capture_file.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"

namespace ctprof::cli {
namespace {

bool is_same(const Column& a, const Column& b) {
  const MetricDef &one = a.def(), &other = b.def();
  return one.name == other.name && one.storage == other.storage && one.newtype == other.newtype &&
         one.rule == other.rule && one.unit == other.unit && one.map_keys == other.map_keys &&
         one.labels == other.labels;
}

bool is_same(const DerivedDef& a, const DerivedDef& b) {
  return a.name == b.name && a.expression == b.expression;
}

// Whether a report that was planned for `outline` fits `run`.
bool has_same_columns(const Snapshot& run, const Snapshot& outline) {
  const auto same = [](const auto& a, const auto& b) { return is_same(a, b); };
  for (std::size_t entity = 0; entity < kEntities; ++entity)
    if (!std::ranges::equal(run.tables[entity].columns, outline.tables[entity].columns, same))
      return false;
  return std::ranges::equal(run.derived, outline.derived, same);
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> DeferredRuns::load_run(std::size_t run) {
  const std::string& file = files_[run];
  CTPROF_TRY_VALUE(auto read, with_error_context({&file, 1}, "reading",
                                                 [&] { return load_file(file, *vocabulary_); }));
  if (read.window) convert_to_differences(read);
  // Notes about a file, such as a truncated end, are reported when the file is read as a whole.
  if (!read.window || !read.load_messages.empty() || !has_same_columns(read, outlines_[run])) {
    any_changed_ = true;
    return error("reading", file, "it changed while it was read");
  }
  return std::make_shared<const Snapshot>(std::move(read));
}

}  // namespace ctprof::cli
