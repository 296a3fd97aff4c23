// What became of each plugin's offers on this host, for the verbs that tell it.
//
// What is here:   judging an offer, and how lists of metrics and refused plugins are put.
// What is not:    asking the plugins (core/registry), telling everything (plugins.cc), telling what
// would help (doctor.cc).

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

// Of all that the plugin offers and shows.
std::vector<Verdict> verdicts_on(const Plugin& plugin, const Probed& probed);

// Words joined and wrapped, each line indented, those behind the first `hanging` more.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                    std::size_t hanging = 0);
// The same of a sentence.
std::string wrapped(std::string_view sentence, std::size_t indent, std::size_t width,
                    std::size_t hanging);
// Of the terminal, or what stands for it where there is none.
std::size_t text_width();

// "refused":[...] of a registry.
void put_refused(JsonWriter& out, const Registry& registry);
std::string text_of_refused(const Registry& registry);

}  // namespace ctprof::cli
