#include "core/output/output_messages.hpp"

#include <utility>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

// Ends each text. No text of a table contains it.
constexpr char kEnd = '\0';

void append_text(std::string& bytes, std::string_view text) {
  bytes += text;
  bytes += kEnd;
}

std::string take_text(std::string_view& bytes) { return std::string(sdk::take(bytes, kEnd)); }

}  // namespace

std::string encode_start(const OutputStart& start) {
  std::string bytes;
  append_text(bytes, start.name);
  append_text(bytes, start.opens ? "opens" : "");
  for (const OutputSetting& setting : start.settings) {
    append_text(bytes, setting.key);
    append_text(bytes, setting.value);
  }
  return bytes;
}

OutputStart decode_start(std::string_view bytes) {
  OutputStart start{.name = take_text(bytes)};
  start.opens = !take_text(bytes).empty();
  while (!bytes.empty()) {
    OutputSetting& setting = start.settings.emplace_back();
    setting.key = take_text(bytes);
    setting.value = take_text(bytes);
  }
  return start;
}

std::string encode_description(const OutputDescription& description) {
  std::string bytes;
  const std::string metrics = join_texts(description.thread_metrics, ",");
  for (const std::string* text : {&description.name, &description.version, &description.description,
                                  &description.signature, &metrics})
    append_text(bytes, *text);
  for (const OutputOption& option : description.options)
    for (const std::string* text : {&option.key, &option.value, &option.description})
      append_text(bytes, *text);
  return bytes;
}

OutputDescription decode_description(std::string_view bytes) {
  OutputDescription description;
  std::string metrics;
  for (std::string* text : {&description.name, &description.version, &description.description,
                            &description.signature, &metrics})
    *text = take_text(bytes);
  if (!metrics.empty())
    for (const std::string_view metric : split(metrics))
      description.thread_metrics.emplace_back(metric);
  while (!bytes.empty()) {
    OutputOption option;
    for (std::string* text : {&option.key, &option.value, &option.description})
      *text = take_text(bytes);
    description.options.push_back(std::move(option));
  }
  return description;
}

}  // namespace ctprof
