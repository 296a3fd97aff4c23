// ctprof plugins: every plugin, every offer, the winner, and why the others lost.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/capture/roots.hpp"
#include "core/file/json_out.hpp"
#include "core/render/printable.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// What became of one offer on this host.
struct Verdict {
  std::string metric;
  std::int32_t rank;
  std::string state;  // "fills", "second to <plugin>", or a gap's name
  std::string reason;
};

Verdict judge(const Field& field, const Offer& offer) {
  if (offer.verdict != Gap::None) return {field.def.name, offer.rank, std::string(name(offer.verdict)), offer.reason};
  const Offer* chosen = field.chosen();
  if (chosen == &offer) return {field.def.name, offer.rank, "fills", {}};
  return {field.def.name, offer.rank, "second to " + chosen->plugin->name, "that offer has rank " + std::to_string(chosen->rank)};
}

std::vector<Verdict> verdicts_on(const Plugin& plugin, const Registry& registry) {
  std::vector<Verdict> verdicts;
  for (const Field& field : registry.fields())
    for (const Offer& offer : field.offers)
      if (offer.plugin == &plugin && !field.def.hidden) verdicts.push_back(judge(field, offer));
  return verdicts;
}

// Names joined and wrapped, each line indented.
std::string wrapped(const std::vector<std::string>& names, std::size_t indent, std::size_t width) {
  std::string text, line(indent, ' ');
  for (const std::string& name : names) {
    if (line.size() > indent && line.size() + name.size() + 1 > width) text += line + "\n", line.assign(indent, ' ');
    line += (line.size() > indent ? " " : "") + printable(name);
  }
  return text + line + "\n";
}

std::string text_of(const Plugin& plugin, const std::vector<Verdict>& verdicts, std::size_t width) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> not_filled;
  std::vector<std::string> filled;
  for (const Verdict& verdict : verdicts)
    verdict.state == "fills" ? filled.push_back(verdict.metric)
                             : not_filled[{verdict.state, verdict.reason}].push_back(verdict.metric);
  std::string text =
      printable(plugin.name + " " + plugin.version + " (ABI " + std::to_string(plugin.abi) + ")  " + plugin.path) + "\n";
  if (!plugin.description.empty()) text += "  " + printable(plugin.description) + "\n";
  text += "  fills " + std::to_string(filled.size()) + " of " + count(verdicts.size(), "metric") + "\n";
  if (!filled.empty()) text += wrapped(filled, 4, width);
  for (const auto& [why, metrics] : not_filled)
    text += "  " + printable(why.first + (why.second.empty() ? "" : ": " + why.second)) + "\n" + wrapped(metrics, 4, width);
  return text + "\n";
}

void put_member(JsonOut& out, std::string_view key, std::string_view text) {
  out.key(key);
  out.text(text);
  out.put(',');
}

void put_offer(JsonOut& out, const Verdict& verdict) {
  out.put('{');
  put_member(out, "metric", verdict.metric);
  out.key("rank");
  out.number(std::int64_t{verdict.rank});
  out.put(',');
  put_member(out, "state", verdict.state);
  put_member(out, "reason", verdict.reason);
  out.close('}');
  out.put(',');
}

void put_plugin(JsonOut& out, const Plugin& plugin, const std::vector<Verdict>& verdicts) {
  out.put('{');
  put_member(out, "name", plugin.name);
  put_member(out, "path", plugin.path);
  put_member(out, "version", plugin.version);
  out.key("abi");
  out.number(std::uint64_t{plugin.abi});
  out.put(',');
  put_member(out, "state", "loaded");
  out.key("offers");
  out.put('[');
  for (const Verdict& verdict : verdicts) put_offer(out, verdict);
  out.close(']');
  out.close('}');
  out.put(',');
}

std::string json_of(const Registry& registry) {
  JsonOut out;
  out.raw("{\"schema\":1,\"plugins\":[");
  for (const Plugin& plugin : registry.plugins())
    if (!plugin.layout) put_plugin(out, plugin, verdicts_on(plugin, registry));
  out.close(']');
  out.raw(",\"refused\":[");
  for (const Refusal& refusal : registry.refused()) {
    out.put('{');
    put_member(out, "path", refusal.what);
    put_member(out, "state", "refused");
    put_member(out, "reason", refusal.reason);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put('}');
  return json_line(out.view());
}

std::string text_of(const Registry& registry) {
  const std::size_t width = terminal_width() > 0 ? terminal_width() : 100;
  std::string text;
  for (const Plugin& plugin : registry.plugins())
    if (!plugin.layout) text += text_of(plugin, verdicts_on(plugin, registry), width);
  for (const Refusal& refusal : registry.refused()) text += "refused: " + printable(refusal.what + ": " + refusal.reason) + "\n";
  return text.empty() ? "no plugin is loaded\n" : text;
}

}  // namespace

int run_plugins(const Options& options) {
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  auto registry = load_registry(options);
  if (!registry) return fail(registry.error());
  registry->probe(roots->host());
  return print(options.format == Format::Json ? json_of(*registry) : text_of(*registry));
}

}  // namespace ctprof::cli
