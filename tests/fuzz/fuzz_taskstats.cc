// Decodes any bytes as a message of the kernel. Checks that results are within the message, and
// that a message with an error never contains a struct.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "plugins/taskstats/decode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ctprof::taskstats;
  constexpr std::uint16_t kFamily = 31;  // the family of the seeds
  const Bytes message = std::as_bytes(std::span(data, size));
  const Answer answer = parse_answer(message, kFamily);
  if ((answer.error == 0) == answer.stats.empty()) std::abort();
  if (answer.stats.size() > size) std::abort();
  const Exit exit = parse_exit(message, kFamily);
  if ((exit.tid != 0) > (answer.error == 0) || exit.stats.size() > size) std::abort();
  if (const auto who = parse_identity(answer.stats); who && who->comm.size() > answer.stats.size())
    std::abort();
  const Layout layout(version_of(answer.stats), answer.stats.size());
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    const auto reading = read_field(answer.stats, layout, field);
    static_cast<void>(read_metric(answer.stats, layout, field));
    if (static_cast<bool>(reading) != (layout.offset(field) != Layout::kAbsent)) std::abort();
  }
  return 0;
}
