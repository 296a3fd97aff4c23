// Loads the plugins that the options name, and reports what was loaded or refused.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof {
class EarlyOpener;
}

namespace ctprof::cli {

// Capture: also loads those of ctprof's own plugins that take part in every capture, even if
// `--plugins` does not name them.
// CaptureAndRecorders: also loads plugins that contain only recorders.
enum class LoadScope { All, Capture, CaptureAndRecorders, Layouts };
// The scope of a capture or window. It may need a plugin that contains only recorders to record, or
// to report that a selected metric belongs to a recorder.
inline LoadScope capture_scope(bool records_stacks, bool selects_metrics) {
  return records_stacks || selects_metrics ? LoadScope::CaptureAndRecorders : LoadScope::Capture;
}
// Loads the plugins that the options name. Prints a note about each refused one, except with
// LoadScope::Layouts. Opens slow plugins ahead of their use, unless `ahead` is null.
Result<Registry> load_registry(const CommonOptions& options, LoadScope which = LoadScope::All,
                               EarlyOpener* ahead = nullptr);
// Does the same, but fails if no plugin could be loaded.
Result<Registry> load_metrics(const CommonOptions& options, LoadScope which = LoadScope::All,
                              EarlyOpener* ahead = nullptr);

// With -v, print which plugins were loaded, and how many captures a file contained.
void note_loaded(const CommonOptions& options, const Registry& registry);
void note_read(const CommonOptions& options, const std::string& file,
               std::span<const Snapshot> captures);

// Prints notes about loaded sources that take no part.
void note_unused(const CommonOptions& options, const std::vector<Refusal>& unused);

}  // namespace ctprof::cli
