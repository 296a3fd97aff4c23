#include "plugins/task-iter/extensible.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "ctprof/files.hpp"
#include "plugins/task-iter/context.hpp"

namespace ctprof::task_iter {
namespace {

constexpr const char* kState = "kernel/sched_ext/state";

}  // namespace

bool has_extensible_class(const sdk::Host& host) {
  return ::faccessat(host.sys(), kState, F_OK, 0) == 0;
}

sdk::Reading<std::uint64_t> extensible_class(const sdk::Host& host) {
  sdk::TextFile file;
  const auto state = file.read(host.sys(), kState);
  if (!state) return state.gap;
  if (sdk::trimmed(state.value) == "disabled") return std::uint64_t{0};
  return host.context<Context>().address_of_extensible_class();
}

}  // namespace ctprof::task_iter
