#include "tools/ctprof/options/capture_options.hpp"

namespace ctprof::cli {

Result<std::vector<std::uint64_t>> parse_pids(const OptionUse& use) {
  CTPROF_TRY_VALUE(const auto words, split_list(use));
  std::vector<std::uint64_t> pids;
  for (const std::string& word : words) {
    CTPROF_TRY_VALUE(const auto pid, parse_whole_number(use.option, word));
    pids.push_back(pid);
  }
  return pids;
}

Result<std::string> parse_cgroup(const OptionUse& use) {
  std::string path = use.last();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty())
    return Error{
        "--cgroup: the path is empty; use the path of a cgroup, such as /a.slice/b.service"};
  if (!path.starts_with('/')) path.insert(0, "/");
  return {boost::system::in_place_value, std::move(path)};
}

}  // namespace ctprof::cli
