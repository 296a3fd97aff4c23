#include "tools/ctprof/inputs/default_names.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/file/write/destination.hpp"

namespace ctprof::cli {

std::optional<std::string> find_newest_recording() {
  namespace fs = std::filesystem;
  std::optional<std::pair<fs::file_time_type, std::string>> newest;
  std::error_code error;
  for (fs::directory_iterator entry(".", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(kFileSuffix) || !entry->is_regular_file(error)) continue;
    const auto written = entry->last_write_time(error);
    if (error) continue;
    if (!newest || written > newest->first || (written == newest->first && name < newest->second))
      newest.emplace(written, name);
  }
  return newest ? std::optional(std::move(newest->second)) : std::nullopt;
}

std::string default_output_name(const std::string& input, std::string_view suffix) {
  std::string name = input;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  name.erase(0, name.rfind('/') + 1);
  if (name.ends_with(kFileSuffix)) name.resize(name.size() - kFileSuffix.size());
  return (name.empty() || name == "-" ? "ctprof" : name) + std::string(suffix);
}

}  // namespace ctprof::cli
