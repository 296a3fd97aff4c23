#include "plugins/task-iter/extensible.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "ctprof/files.hpp"
#include "plugins/task-iter/ext_class.h"

namespace ctprof::task_iter {
namespace {

constexpr const char* kState = "kernel/sched_ext/state";

// Kept, for it stays where it is as long as the kernel runs.
sdk::Reading<std::uint64_t> address_of_class() {
  static std::mutex asking;
  static unsigned long long address = 0;
  const std::lock_guard lock(asking);
  const int error = address != 0 ? 0 : task_iter_find_ext_class(&address);
  if (error == 0) return std::uint64_t{address};
  return error == EPERM ? Gap::Denied : Gap::Unsupported;
}

}  // namespace

bool has_extensible_class(const sdk::Host& host) { return ::faccessat(host.sys(), kState, F_OK, 0) == 0; }

sdk::Reading<std::uint64_t> extensible_class(const sdk::Host& host) {
  sdk::TextFile file;
  const auto state = file.read(host.sys(), kState);
  if (!state) return state.gap;
  if (sdk::trimmed(state.value) == "disabled") return std::uint64_t{0};
  return address_of_class();
}

}  // namespace ctprof::task_iter
