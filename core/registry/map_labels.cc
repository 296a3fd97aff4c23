#include "core/registry/map_labels.hpp"

#include "core/base/text.hpp"
#include "ctprof/labels.hpp"

namespace ctprof {
namespace {

constexpr char kLabelSeparator = ',';

// Returns the text that a part of a well-formed key represents.
std::string decode_label(std::string_view part) {
  constexpr std::size_t kEscapeBytes = 3;  // "%2C" or "%25"
  std::string text;
  while (!part.empty()) {
    const bool is_escape = part.front() == '%';
    text += !is_escape ? part.front() : part[2] == 'C' ? kLabelSeparator : '%';
    part.remove_prefix(is_escape ? kEscapeBytes : 1);
  }
  return text;
}

bool has_two_labels(std::string_view labels) { return labels.find(kLabelSeparator) != labels.npos; }

}  // namespace

std::vector<std::string_view> label_names(std::string_view labels) {
  if (labels.empty()) return {};
  return split(labels);
}

bool is_key_of_labels(std::string_view labels, std::string_view key) {
  return !has_two_labels(labels) || is_label_pair(key);
}

std::vector<std::string> label_values(std::string_view labels, std::string_view key) {
  if (labels.empty()) return {};
  if (!has_two_labels(labels)) return {std::string(key)};
  if (!is_label_pair(key)) return {std::string(key), std::string()};
  const std::size_t separator = key.find(kLabelSeparator);
  return {decode_label(key.substr(0, separator)), decode_label(key.substr(separator + 1))};
}

std::string join_label_values(const std::vector<std::string>& values) {
  if (values.size() < 2) return values.empty() ? std::string() : values.front();
  const auto to_text = [](const std::string& value) {
    return ctprof_text{value.data(), value.size()};
  };
  std::string key(3 * (values[0].size() + values[1].size()) + 1, '\0');
  key.resize(ctprof_join_labels(to_text(values[0]), to_text(values[1]), key.data(), key.size()));
  return key;
}

std::string format_labelled_key(std::string_view labels, std::string_view key) {
  const auto names = label_names(labels);
  const auto values = label_values(labels, key);
  if (names.empty()) return std::string(key);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i > 0 ? " " : "") + std::string(names[i]) + "=" + values[i];
  return text;
}

bool has_valid_labels(const MetricDef& def, std::string_view labels) {
  return def.storage == Storage::Map && find_label_fault(labels) == LabelFault::None;
}

}  // namespace ctprof
