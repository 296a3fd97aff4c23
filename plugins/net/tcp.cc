#include "plugins/net/tcp.hpp"

#include <cerrno>

namespace ctprof::net {
namespace {

constexpr const char* kFile = "net/snmp";

// Returns the rest of the first line that begins with "Tcp:", and removes the lines up to it.
std::string_view take_tcp_line(std::string_view& text) {
  while (!text.empty()) {
    std::string_view line = sdk::take(text, '\n');
    if (sdk::take(line, ' ') == "Tcp:") return line;
  }
  return {};
}

// Returns the number below a name.
sdk::Reading<std::uint64_t> find_number(std::string_view text, std::string_view name) {
  std::string_view names = take_tcp_line(text), numbers = take_tcp_line(text);
  while (!names.empty()) {
    const std::string_view number = sdk::take(numbers, ' ');
    if (sdk::take(names, ' ') == name) return sdk::number<std::uint64_t>(number);
  }
  return Gap::Malformed;
}

}  // namespace

void Tcp::probe(const sdk::Host& host, const sdk::Probe& probe) {
  sdk::TextFile file;
  if (file.read(host.proc(), kFile)) return;
  if (file.last_errno() == ENOENT)
    return probe.refuse_all(Gap::Unsupported, "there is no /proc/net/snmp",
                            sdk::by_kernel("CONFIG_INET=y"));
  probe.refuse_all(gap_of_errno(file.last_errno()), "/proc/net/snmp cannot be read");
}

void Tcp::collect(const sdk::Batch& batch) {
  auto received = batch.column(kTcpReceived), sent = batch.column(kTcpSent),
       retransmitted = batch.column(kTcpRetransmitted),
       active_opens = batch.column(kTcpActiveOpens), failed_opens = batch.column(kTcpFailedOpens);
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    const auto text = file_.read(host_.proc(), kFile);
    const auto find = [&](std::string_view name) {
      return text ? find_number(text.value, name) : sdk::Reading<std::uint64_t>(text.gap);
    };
    received.put(row, find("InSegs"));
    sent.put(row, find("OutSegs"));
    retransmitted.put(row, find("RetransSegs"));
    active_opens.put(row, find("ActiveOpens"));
    failed_opens.put(row, find("AttemptFails"));
  }
}

}  // namespace ctprof::net
