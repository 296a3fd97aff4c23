#include "tools/ctprof/privileges.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/registry/loader.hpp"

namespace ctprof::cli {
namespace {

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Result<void> call(long number, const char* activity, Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(number, &header, sets.data()) != 0)
    return errno_error(activity, "capabilities", errno);
  return {};
}

Result<void> set(Sets sets) { return call(SYS_capset, "laying down", sets); }

}  // namespace

// What is neither permitted nor inheritable any more, the kernel takes out of the ambient set by
// itself.
Result<void> drop_privileges() {
  if (!runs_privileged()) return {};
  return set({});
}

Result<void> without_privileges(const std::function<Result<void>()>& activity) {
  if (!runs_privileged()) return activity();
  Sets held{};
  if (auto known = call(SYS_capget, "looking at", held); !known) return known;
  Sets lowered = held;
  for (auto& words : lowered) words.effective = 0;
  if (auto done = set(lowered); !done) return done;
  const Result<void> result = activity();
  if (auto raised = set(held); !raised) return raised;
  return result;
}

}  // namespace ctprof::cli
