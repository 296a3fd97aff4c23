#include <string>
#include <string_view>

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

std::string quote_command_line(int argc, const char* const* argv) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,.:/@%#";
  std::string line = "ctprof";
  for (int word = 1; word < argc; ++word) {
    const std::string_view text = argv[word];
    line += ' ';
    if (!text.empty() && text.find_first_not_of(kPlain) == text.npos && text[0] != '#') {
      line += text;
      continue;
    }
    line += '\'';
    for (const char c : text) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace ctprof::cli
