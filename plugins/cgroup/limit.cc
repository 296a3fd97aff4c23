#include "plugins/cgroup/limit.hpp"

#include "ctprof/files.hpp"

namespace ctprof::cgroup {

sdk::Reading<std::uint64_t> parse_limit(std::string_view text) {
  text = sdk::trimmed(text);
  return text == "max" ? sdk::Reading<std::uint64_t>(kNoLimit) : sdk::number<std::uint64_t>(text);
}

CpuMax parse_cpu_max(std::string_view text) {
  const std::string_view quota = sdk::take(text, ' ');
  return {parse_limit(quota), sdk::number<std::uint64_t>(sdk::trimmed(text))};
}

}  // namespace ctprof::cgroup
