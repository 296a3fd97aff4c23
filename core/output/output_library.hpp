// A loaded output plugin. Used only in its own process (output_child.hpp).

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/output/output_messages.hpp"
#include "ctprof/output.h"

namespace ctprof {

class OutputLibrary {
 public:
  // Loads the library and checks its table. `path` may be /proc/self/fd/N. The library stays
  // loaded.
  static Result<OutputLibrary> load(const std::string& path, const std::string& name,
                                    const std::vector<OutputSetting>& settings);

  const OutputDescription& description() const { return description_; }
  // Calls the functions of the plugin. The error is its message. `write` and `core` are passed to
  // the plugin (ctprof_output_core); at most one call of open() and close().
  Result<void> open(void* core, int32_t (*write)(void*, const char*, std::size_t));
  Result<void> put(const ctprof_output_window& window);
  Result<void> close();

 private:
  explicit OutputLibrary(const ctprof_output& table) : table_(table) {}
  Result<void> read_table();
  Result<void> apply(const OutputSetting& setting);

  ctprof_output table_{};  // fields beyond the plugin's size are zero
  OutputDescription description_;
  std::vector<ctprof_setting> settings_;
  ctprof_output_core core_{};
  void* state_ = nullptr;
};

}  // namespace ctprof
