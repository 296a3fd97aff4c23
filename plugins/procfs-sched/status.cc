#include "plugins/procfs-sched/status.hpp"

#include <cctype>

namespace ctprof::procfs {

sdk::ReadingOf<sdk::Char> state_letter(std::string_view text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())))
    return Gap::Malformed;
  return text.substr(0, 1);
}

void StatusFile::fill(const sdk::Thread& thread, Values status) {
  if (thread.tid != thread.tgid) status.of<vocabulary::nr_threads>() = Gap::NotApplicable;
  put(thread.row, status);
}

}  // namespace ctprof::procfs
