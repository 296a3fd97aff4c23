#include "core/compare/asked/section.hpp"

#include <algorithm>
#include <iterator>

namespace ctprof {

const SectionInfo* find_section(std::string_view name) {
  const auto it = std::find_if(std::begin(kSections), std::end(kSections),
                               [&](const SectionInfo& s) { return s.name == name; });
  return it == std::end(kSections) ? nullptr : it;
}

std::tuple<std::size_t, std::string_view> section_place(std::string_view name) {
  const SectionInfo* known = find_section(name);
  return {known ? static_cast<std::size_t>(known - kSections) : std::size(kSections),
          known ? std::string_view{} : name};
}

std::vector<std::string> misplaced_sections(const Spec& spec) {
  std::vector<std::string> sentences;
  for (const std::string& section : spec.sections) {
    const SectionInfo* known = find_section(section);
    if (known && known->needs_cgroups && spec.group_by != GroupBy::Cgroup)
      sentences.push_back("section '" + section +
                          "' requires --group-by cgroup; omitted under --group-by " +
                          std::string(axis_word(spec)));
  }
  return sentences;
}

}  // namespace ctprof
