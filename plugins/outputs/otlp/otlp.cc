// otlp: metrics of groups for OpenTelemetry, as OTLP over HTTP.
//
// The message is described in README.md of this directory.

#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "ctprof/output.h"
#include "plugins/outputs/otlp/http_post.hpp"
#include "plugins/outputs/otlp/metrics_message.hpp"

namespace {

namespace otlp = ctprof::otlp;

// The order of the options in the table.
enum Setting { kEndpoint, kHeader, kTimeout };

constexpr long kMaxTimeoutMs = 600'000;

constexpr ctprof_option kOptions[] = {
    {.size = sizeof(ctprof_option),
     .key = "endpoint",
     .description = "URL that receives the metrics, such as http://127.0.0.1:4318/v1/metrics."},
    {.size = sizeof(ctprof_option),
     .key = "header",
     .description = "A header of each request, such as 'Authorization: Bearer TOKEN'."},
    {.size = sizeof(ctprof_option),
     .key = "timeout-ms",
     .fallback = "10000",
     .description = "Time limit of a request in ms, from 1 to 600000."}};

struct State {
  otlp::Totals totals;
  otlp::HttpPost post;
};

// Copies an error to the message of the interface. Returns 0 if there is none.
std::int32_t report(const std::string& error, char* message, std::size_t message_size) {
  std::snprintf(message, message_size, "%s", error.c_str());
  return error.empty() ? 0 : 1;
}

std::string_view setting(const ctprof_output_core& core, Setting number) {
  return CTPROF_ITEM(ctprof_setting, core.settings, number)->value;
}

std::string open_state(const ctprof_output_core& core, State& state) {
  otlp::HttpPost::Options options{std::string(setting(core, kEndpoint)),
                                  std::string(setting(core, kHeader))};
  const std::string_view timeout = setting(core, kTimeout);
  const auto [end, failed] =
      std::from_chars(timeout.data(), timeout.data() + timeout.size(), options.timeout_ms);
  if (failed != std::errc() || end != timeout.data() + timeout.size() || options.timeout_ms < 1 ||
      options.timeout_ms > kMaxTimeoutMs)
    return "timeout-ms: '" + std::string(timeout) + "' is not a number from 1 to 600000";
  return state.post.open(options);
}

std::int32_t open_output(const ctprof_output_core* core, void** state, char* message,
                         std::size_t message_size) try {
  auto opened = std::make_unique<State>();
  const std::int32_t status = report(open_state(*core, *opened), message, message_size);
  if (status == 0) *state = opened.release();
  return status;
} catch (const std::exception& exception) {
  return report(exception.what(), message, message_size);
}

std::int32_t put(void* state, const ctprof_output_window* window, char* message,
                 std::size_t message_size) try {
  auto& open_state = *static_cast<State*>(state);
  return report(open_state.post.send(otlp::make_metrics_message(*window, open_state.totals)),
                message, message_size);
} catch (const std::exception& exception) {
  return report(exception.what(), message, message_size);
}

std::int32_t close_output(void* state, char*, std::size_t) {
  delete static_cast<State*>(state);
  return 0;
}

}  // namespace

CTPROF_EXPORT constexpr ctprof_output ctprof_output = {
    .abi = CTPROF_OUTPUT_ABI,
    .size = sizeof ctprof_output,
    .name = "otlp",
    .version = "1.0",
    .description = "Sends metrics to a collector of OpenTelemetry, as OTLP over HTTP.",
    .options = CTPROF_ARRAY_OF(kOptions),
    .open = &open_output,
    .put = &put,
    .close = &close_output};
