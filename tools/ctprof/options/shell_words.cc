#include <string>
#include <string_view>

#include "core/base/text.hpp"
#include "tools/ctprof/options/command_line.hpp"

namespace ctprof::cli {

std::string quote_command_line(int argc, const char* const* argv) {
  std::string line = "ctprof";
  for (int word = 1; word < argc; ++word) line += ' ' + quote_for_shell(argv[word]);
  return line;
}

}  // namespace ctprof::cli
