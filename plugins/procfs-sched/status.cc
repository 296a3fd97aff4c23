#include "plugins/procfs-sched/status.hpp"

#include <cctype>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"

namespace ctprof::procfs {
namespace {

// Whether `line` begins with `key` and a colon; then only what follows, without blanks, is left of
// it.
bool take_key(std::string_view& line, std::string_view key) {
  if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ':') return false;
  line = bare(line.substr(key.size() + 1));
  return true;
}

sdk::Reading<std::string_view> letter(std::string_view text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())))
    return Gap::Malformed;
  return text.substr(0, 1);
}

void parse_line(std::string_view line, Status& status) {
  switch (line.front()) {
    case 'S':
      if (take_key(line, "State")) status.state = letter(line);
      break;
    case 'T':
      if (take_key(line, "Threads")) status.threads = u64(line);
      break;
    case 'C':
      if (take_key(line, "Cpus_allowed_list")) status.cpus_allowed = line;
      break;
    case 'v':
      if (take_key(line, "voluntary_ctxt_switches")) status.voluntary_csw = u64(line);
      break;
    case 'n':
      if (take_key(line, "nonvoluntary_ctxt_switches")) status.nonvoluntary_csw = u64(line);
      break;
    default: break;
  }
}

}  // namespace

Status parse_status(std::string_view text) {
  Status status;
  while (!text.empty()) {
    const std::string_view line = sdk::take(text, '\n');
    if (!line.empty()) parse_line(line, status);
  }
  return status;
}

void StatusFile::fill(const sdk::Thread& thread, const Status& status) {
  const bool leader = thread.tid == thread.tgid;
  put(thread.row, status.state,
      leader ? status.threads : sdk::Reading<std::uint64_t>(Gap::NotApplicable),
      status.voluntary_csw, status.nonvoluntary_csw);
}

}  // namespace ctprof::procfs
