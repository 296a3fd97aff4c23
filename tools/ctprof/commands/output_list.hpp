// The output plugins in the output of `ctprof plugins`.

#pragma once

#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/output/output_messages.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

struct ListedOutput {
  OutputDescription description;  // only the name if it is refused
  std::string path;               // empty if it is refused
  std::string refusal;            // empty: none
};

// Loads each output plugin in a process of its own. REQUIRES: no other thread exists.
std::vector<ListedOutput> list_described_outputs(const CommonOptions& options);

// One paragraph for each output; empty if there is none.
std::string format_outputs(const std::vector<ListedOutput>& outputs);
// A member "outputs", with a comma.
void put_outputs(JsonWriter& out, const std::vector<ListedOutput>& outputs);

}  // namespace ctprof::cli
