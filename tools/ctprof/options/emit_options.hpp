// The option --emit of commands that record windows.

#pragma once

#include <string>
#include <vector>

#include "tools/ctprof/options/option.hpp"
#include "tools/ctprof/options/option_parsers.hpp"

namespace ctprof::cli {

struct EmitOption {
  std::vector<std::string> outputs{};  // output plugins that receive each window
};

inline constexpr auto kEmit =
    option("emit", "NAME,...", member<&EmitOption::outputs>, NameList(),
           "Also pass each window to these output plugins, as metrics of groups; `ctprof plugins` "
           "lists them. record requires --every. An output that is too slow loses windows, but "
           "never delays one.");

}  // namespace ctprof::cli
