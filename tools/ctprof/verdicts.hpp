// What became of each plugin's offers on this host, for `ctprof plugins` and `ctprof doctor`.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/registry/probed.hpp"

namespace ctprof::cli {

// Refers to the Probed that it was made of.
struct Verdict {
  const ProbedField* field;
  const ProbedOffer* offer;
  std::string state;  // "fills", "also available", or a gap's name
  std::string reason;

  bool fills() const { return field->chosen() == offer; }
  bool is_refused() const { return offer->verdict != Gap::None; }
};

// The verdicts on all offers of a plugin but hidden ones.
std::vector<Verdict> verdicts_on(const Plugin& plugin, const Probed& probed);

// Joins and wraps words. Lines are indented by `indent`, those after the first by `hanging` more.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                    std::size_t hanging = 0);
// The same for the words of a sentence.
std::string wrapped(std::string_view sentence, std::size_t indent, std::size_t width,
                    std::size_t hanging);
// The width of the terminal, or a default if there is none.
std::size_t text_width();

// "refused":[...] of a registry.
void put_refused(JsonWriter& out, const Registry& registry);
std::string text_of_refused(const Registry& registry);

}  // namespace ctprof::cli
