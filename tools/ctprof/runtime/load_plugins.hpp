// Loads the plugins that the options name, and reports what was loaded or refused.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof {
class Ahead;
}

namespace ctprof::cli {

// Capture: loads also those of ctprof's plugins that take part in every capture, even if
// `--plugins` does not name them.
enum class Load { All, Capture, Layouts };
// Loads the plugins that the options name. Notes refused ones, unless only layouts are wanted.
// Opens those ahead that take long, unless `ahead` is null.
Result<Registry> load_registry(const Options& options, Load which = Load::All,
                               Ahead* ahead = nullptr);
// The same, but fails if no plugin could be loaded.
Result<Registry> load_metrics(const Options& options, Load which = Load::All,
                              Ahead* ahead = nullptr);

// With -v, what was read: the plugins, a file of so many captures.
void note_loaded(const Options& options, const Registry& registry);
void note_read(const Options& options, const std::string& file, std::span<const Snapshot> captures);

// Notes sources that are loaded but take no part.
void note_unused(const Options& options, const std::vector<Refusal>& unused);

}  // namespace ctprof::cli
