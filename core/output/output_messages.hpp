// The messages between ctprof and the process of an output plugin. Both ends are the same program.
//
// ctprof sends an OutputStart with the descriptor of the plugin's file, and a descriptor of each
// window, with its bytes (window_bytes.hpp), over a socket (core/base/child_message.hpp), and
// closes its side at the end. The process answers each window over a pipe (output_answers.hpp),
// with a message that begins with one of these letters.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// The first message, if the plugin was loaded and opened: an OutputDescription.
inline constexpr char kOutputReady = 'R';
// The first message otherwise: the reason. The process then ends.
inline constexpr char kOutputRefused = 'X';
// The answer to a window: nothing, or the plugin's message if it was not delivered.
inline constexpr char kOutputDelivered = 'D', kOutputFailed = 'F';
// The last message, after the plugin was closed: nothing, or its message.
inline constexpr char kOutputClosed = 'C';

struct OutputOption {
  std::string key, value, description;
};

struct OutputDescription {
  std::string name, version, description;
  std::string signature{};                    // of its files; empty: none
  std::vector<std::string> thread_metrics{};  // empty: it receives groups
  std::vector<OutputOption> options{};        // with their current values
};

// A setting NAME.KEY=VALUE without the name.
struct OutputSetting {
  std::string key, value;
};

// No text contains a zero byte.
struct OutputStart {
  std::string name;   // the expected name of the plugin
  bool opens = true;  // false: the process only describes the plugin
  std::vector<OutputSetting> settings{};
};

std::string encode_start(const OutputStart& start);
OutputStart decode_start(std::string_view bytes);

std::string encode_description(const OutputDescription& description);
OutputDescription decode_description(std::string_view bytes);

}  // namespace ctprof
