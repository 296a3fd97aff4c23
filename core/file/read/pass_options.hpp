// Options of one pass over a file.

#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/result.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/file/read/snapshot_builder.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

// Options of a pass.
struct PassOptions {
  // Known from an earlier pass; the file's own registry is then skipped.
  std::optional<RegistryPart> registry;
  bool only_find_registry = false;  // only search for the registry
};

}  // namespace ctprof
