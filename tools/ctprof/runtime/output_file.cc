#include "tools/ctprof/runtime/output_file.hpp"

#include <string>

#include "core/render/terminal_text.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {

int report_written_file(const Options& options, const Target& target, std::uint64_t bytes) {
  if (options.quiet) return kFine;
  const std::string line = make_printable(target.name) + ", " + format_size(bytes) + "\n";
  if (!target.is_stdout) return print(line);
  say(line);
  return kFine;
}

}  // namespace ctprof::cli
