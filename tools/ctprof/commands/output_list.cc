#include "tools/ctprof/commands/output_list.hpp"

#include <utility>

#include "core/render/terminal_text.hpp"
#include "tools/ctprof/runtime/outputs.hpp"

namespace ctprof::cli {
namespace {

std::string format_output(const ListedOutput& output) {
  const OutputDescription& described = output.description;
  if (!output.refusal.empty())
    return make_printable("output " + described.name + "  refused: " + output.refusal) + "\n\n";
  std::string text =
      make_printable("output " + described.name + " " + described.version + "  " + output.path) +
      "\n";
  if (!described.description.empty()) text += "  " + make_printable(described.description) + "\n";
  for (const OutputOption& option : described.options)
    text += "  " +
            make_printable("--set " + described.name + "." + option.key + "=" + option.value +
                           "  " + option.description) +
            "\n";
  return text + "\n";
}

void put_output(JsonWriter& out, const ListedOutput& output) {
  out.put('{');
  out.member("name", output.description.name);
  out.member("path", output.path);
  out.member("version", output.description.version);
  out.member("state", output.refusal.empty() ? "available" : "refused");
  out.member("reason", output.refusal);
  out.key("options");
  out.put('[');
  for (const OutputOption& option : output.description.options) {
    out.put('{');
    out.member("key", option.key);
    out.member("value", option.value);
    out.member("description", option.description);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.close('}');
  out.put(',');
}

}  // namespace

std::vector<ListedOutput> list_described_outputs(const CommonOptions& options) {
  std::vector<ListedOutput> listed;
  for (const std::string& name : list_outputs(output_directories(options.plugin_path))) {
    ListedOutput& output = listed.emplace_back();
    output.description.name = name;
    const auto process = describe_output(options, name);
    if (!process) {
      output.refusal = process.error().text;
      continue;
    }
    output.description = process->description();
    output.path = process->path();
  }
  return listed;
}

std::string format_outputs(const std::vector<ListedOutput>& outputs) {
  std::string text;
  for (const ListedOutput& output : outputs) text += format_output(output);
  return text;
}

void put_outputs(JsonWriter& out, const std::vector<ListedOutput>& outputs) {
  out.key("outputs");
  out.put('[');
  for (const ListedOutput& output : outputs) put_output(out, output);
  out.close(']');
  out.put(',');
}

}  // namespace ctprof::cli
