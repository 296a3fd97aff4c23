#include "tools/ctprof/verdicts.hpp"

#include "core/render/printable.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 100;

Verdict judge(const ProbedField& field, const ProbedOffer& offer) {
  if (offer.verdict != Gap::None)
    return {&field, &offer, std::string(name(offer.verdict)), offer.reason};
  const ProbedOffer* chosen = field.chosen();
  if (chosen == &offer) return {&field, &offer, "fills", {}};
  return {&field, &offer, "also available", chosen->plugin->name + " is preferred"};
}

}  // namespace

std::vector<Verdict> verdicts_on(const Plugin& plugin, const Probed& probed) {
  std::vector<Verdict> verdicts;
  for (const ProbedField& field : probed.fields())
    for (const ProbedOffer& offer : field.offers)
      if (offer.plugin == &plugin && !field.def.hidden) verdicts.push_back(judge(field, offer));
  return verdicts;
}

std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                    std::size_t hanging) {
  std::string text, line(indent, ' ');
  bool begun = false;
  for (const std::string& word : words) {
    const std::string shown = printable(word);
    if (begun && line.size() + 1 + shown.size() > width)
      text += line + "\n", line.assign(indent + hanging, ' '), begun = false;
    line += (begun ? " " : "") + shown;
    begun = true;
  }
  return text + line + "\n";
}

std::string wrapped(std::string_view sentence, std::size_t indent, std::size_t width,
                    std::size_t hanging) {
  std::vector<std::string> words;
  while (!sentence.empty()) words.emplace_back(sdk::take(sentence, ' '));
  return wrapped(words, indent, width, hanging);
}

std::size_t text_width() { return terminal_width() > 0 ? terminal_width() : kWidthWithoutTerminal; }

void put_refused(JsonWriter& out, const Registry& registry) {
  out.key("refused");
  out.put('[');
  for (const Refusal& refusal : registry.refused()) {
    out.put('{');
    out.member("path", refusal.what);
    out.member("state", "refused");
    out.member("reason", refusal.reason);
    out.close('}');
    out.put(',');
  }
  out.close(']');
  out.put(',');
}

std::string text_of_refused(const Registry& registry) {
  std::string text;
  for (const Refusal& refusal : registry.refused())
    text += "refused: " + printable(refusal.what + ": " + refusal.reason) + "\n";
  return text;
}

}  // namespace ctprof::cli
