#include "core/output/output_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

constexpr const char* kSymbol = "ctprof_output";
// The size of the first published table.
constexpr std::size_t kMinTableBytes =
    offsetof(ctprof_output, close) + sizeof(ctprof_output::close);

std::string text_of(const char* text) { return text ? text : ""; }

// Calls a function of the plugin with space for a message.
template <class Call>
Result<void> call_plugin(const char* function, const Call& call) {
  std::array<char, 1024> message{};
  const std::int32_t status = call(message.data(), message.size());
  if (status == 0) return {};
  message.back() = '\0';
  if (message[0] != '\0') return Error{message.data()};
  return Error{std::string(function) + " failed with status " + std::to_string(status) +
               " and no message"};
}

// Returns the table of an open library. The first field is read before the others.
Result<ctprof_output> copy_table(void* library) {
  const auto* table = static_cast<const ctprof_output*>(::dlsym(library, kSymbol));
  if (!table) return Error{std::string("it exports no symbol '") + kSymbol + "'"};
  if (table->abi != CTPROF_OUTPUT_ABI)
    return Error{"it is built for version " + std::to_string(table->abi) +
                 " of the output interface, this ctprof for version " +
                 std::to_string(CTPROF_OUTPUT_ABI)};
  if (table->size < kMinTableBytes)
    return Error{"its table states a size of " + std::to_string(table->size) +
                 " bytes, which is less than that of version 1"};
  ctprof_output copy{};
  std::memcpy(&copy, table, std::min<std::size_t>(table->size, sizeof copy));
  return copy;
}

}  // namespace

Result<void> OutputLibrary::read_table() {
  if (!table_.put) return Error{"its table has no function 'put'"};
  description_ = {text_of(table_.name), text_of(table_.version), text_of(table_.description),
                  text_of(table_.signature)};
  for (std::uint32_t i = 0; i < table_.thread_metrics.count; ++i)
    description_.thread_metrics.push_back(
        text_of(*CTPROF_ITEM(const char*, table_.thread_metrics, i)));
  const auto* items = static_cast<const char*>(table_.options.items);
  for (std::uint32_t i = 0; i < table_.options.count; ++i) {
    ctprof_option option{};
    std::memcpy(&option, items + std::size_t{i} * table_.options.item_size,
                std::min<std::size_t>(table_.options.item_size, sizeof option));
    if (!option.key) return Error{"an option has no key"};
    description_.options.push_back(
        {option.key, text_of(option.fallback), text_of(option.description)});
  }
  return {};
}

Result<void> OutputLibrary::apply(const OutputSetting& setting) {
  const auto option = std::ranges::find(description_.options, setting.key, &OutputOption::key);
  if (option != description_.options.end()) {
    option->value = setting.value;
    return {};
  }
  std::vector<std::string> keys;
  for (const OutputOption& known : description_.options) keys.push_back(known.key);
  return Error{"it has no option " + quote(setting.key) + suggest_nearest(setting.key, keys) +
               (keys.empty() ? "; it has none" : "; it has " + join_texts(keys))};
}

Result<OutputLibrary> OutputLibrary::load(const std::string& path, const std::string& name,
                                          const std::vector<OutputSetting>& settings) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Error{text_of(::dlerror())};
  CTPROF_TRY_VALUE(const ctprof_output table, copy_table(handle));
  OutputLibrary library(table);
  CTPROF_TRY(library.read_table());
  if (library.description_.name != name)
    return Error{"its name is " + quote(library.description_.name) +
                 ", which differs from that of its file"};
  for (const OutputSetting& setting : settings) CTPROF_TRY(library.apply(setting));
  return library;
}

Result<void> OutputLibrary::open(void* core, int32_t (*write)(void*, const char*, std::size_t)) {
  for (const OutputOption& option : description_.options)
    settings_.push_back({option.key.c_str(), option.value.c_str()});
  core_ = {.size = sizeof core_,
           .reserved = 0,
           .settings = {settings_.data(), static_cast<std::uint32_t>(settings_.size()),
                        sizeof(ctprof_setting)},
           .core = core,
           .write = write};
  if (!table_.open) return {};
  return call_plugin("open", [&](char* message, std::size_t size) {
    return table_.open(&core_, &state_, message, size);
  });
}

Result<void> OutputLibrary::put(const ctprof_output_window& window) {
  return call_plugin("put", [&](char* message, std::size_t size) {
    return table_.put(state_, &window, message, size);
  });
}

Result<void> OutputLibrary::close() {
  if (!table_.close) return {};
  return call_plugin("close", [&](char* message, std::size_t size) {
    return table_.close(state_, message, size);
  });
}

}  // namespace ctprof
