#include "tools/ctprof/runtime/output_file.hpp"

#include <string>

#include "core/render/terminal_text.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {

int report_written_file(const CommonOptions& options, const Target& target, std::uint64_t bytes) {
  if (options.quiet) return kSuccess;
  const std::string line = make_printable(target.name) + ", " + format_size(bytes) + "\n";
  if (!target.is_stdout) return print(line);
  print_to_stderr(line);
  return kSuccess;
}

}  // namespace ctprof::cli
