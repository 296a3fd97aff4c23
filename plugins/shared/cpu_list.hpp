// Lists of CPUs as the kernel prints them: "0-3,8".

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ctprof {

inline constexpr std::uint64_t kMaxCpus = 65536;

// As words of 64 bits, into `words`. False, and the words undefined, when it is no such list, is
// empty, or names a CPU beyond kMaxCpus.
bool parse_cpu_list(std::string_view list, std::vector<std::uint64_t>& words);

}  // namespace ctprof
