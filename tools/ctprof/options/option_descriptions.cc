#include "tools/ctprof/options/option_descriptions.hpp"

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "tools/ctprof/options/option_table.hpp"

namespace ctprof::cli {
namespace {

namespace po = boost::program_options;

// A group of record's options in its help. The last group takes the remaining options.
struct OptionGroup {
  std::string_view caption;
  std::string_view options;  // long names only
};
constexpr std::array kRecordGroups{
    OptionGroup{"When and where", "duration,output,repeat,every,keep,max-size,dry-run,interleave"},
    OptionGroup{"What", "pid,no-inherit,cgroup,metrics,level,plugins,set,no-hostname"},
    OptionGroup{"Call stacks",
                "recorders,freq,sleepers-freq,offcpu-period,offcpu-stacks,budget,max-depth,unwind,"
                "stack-bytes,ring,debug-dir,inlines"},
    OptionGroup{"Other options", ""}};

std::string_view caption_of(const OptionInfo& option) {
  for (const OptionGroup& group : kRecordGroups)
    if (group.options.empty() || is_listed(group.options, long_name(option))) return group.caption;
  return {};
}

}  // namespace

po::options_description describe_options(std::string_view command, std::string_view caption) {
  po::options_description description(caption.empty() ? "Options" : std::string(caption));
  for (const OptionInfo& option : kOptions) {
    if (!command.empty() && !is_listed(option.commands, command)) continue;
    if (!caption.empty() && caption_of(option) != caption) continue;
    if (option.value)
      description.add_options()(option.name,
                                po::value<std::vector<std::string>>()->value_name(option.value),
                                option.help);
    else
      description.add_options()(option.name, option.help);
  }
  return description;
}

std::string options_help(const std::string& command) {
  std::ostringstream text;
  if (command != "record") {
    text << describe_options(command);
    return text.str();
  }
  for (const OptionGroup& group : kRecordGroups)
    text << (text.tellp() > 0 ? "\n" : "") << describe_options(command, group.caption);
  return text.str();
}

}  // namespace ctprof::cli
