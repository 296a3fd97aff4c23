#include "tools/ctprof/target.hpp"

#include <unistd.h>

#include <optional>
#include <utility>

#include "core/file/file.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

Error cannot_write_here(const Options& options) {
  if (options.output.empty()) return {"missing -o FILE, for example -o before.ctprof.zst"};
  return {
      "a snapshot is compressed and no good on a terminal; say -o FILE, or send standard output "
      "elsewhere"};
}

// Checks, with the user's own rights, that `path` can be written.
Result<Destination> destination_for(const std::string& path) {
  std::optional<Destination> destination;
  const auto found = without_privileges([&]() -> Result<void> {
    auto checked = check_output(path);
    if (!checked) return checked.error();
    destination = std::move(*checked);
    return {};
  });
  if (!found) return found.error();
  return std::move(*destination);
}

}  // namespace

Result<Target> target_of(const Options& options) {
  const bool to_stdout = names_output(options.output);
  if (options.output.empty() || (to_stdout && ::isatty(output_fd()) == 1))
    return cannot_write_here(options);
  auto destination = destination_for(to_stdout ? "-" : options.output);
  if (!destination) return destination.error();
  return Target{std::move(*destination), to_stdout, to_stdout ? "standard output" : options.output};
}

}  // namespace ctprof::cli
