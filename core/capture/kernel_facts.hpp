// Small facts about a kernel: lists of processors, build options.

#pragma once

#include <string_view>
#include <vector>

namespace ctprof {

// "0-3,8" as numbers, ascending; empty when it is no such list or names more than 65,536.
std::vector<unsigned> parse_cpu_list(std::string_view text);

// Whether the kernel was built with `option`, by the config.gz in the directory `proc`: "on", "off", or "unknown" where there is none.
std::string_view kernel_option(int proc, std::string_view option);

}  // namespace ctprof
