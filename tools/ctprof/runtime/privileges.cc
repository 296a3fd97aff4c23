#include "tools/ctprof/runtime/privileges.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/file/file.hpp"
#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// A longer name is shortened in the middle.
constexpr std::size_t kMaxNameBytesInMessage = 700;

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Result<void> call_capability_syscall(long number, const char* activity, CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(number, &header, sets.data()) != 0)
    return errno_error(activity, "capabilities", errno);
  return {};
}

Result<void> set_capabilities(CapabilitySets sets) {
  return call_capability_syscall(SYS_capset, "dropping", sets);
}

}  // namespace

// The kernel removes from the ambient set by itself what is no longer permitted and inheritable.
Result<void> drop_privileges() {
  if (!runs_privileged()) return {};
  return set_capabilities({});
}

Result<void> without_privileges(const std::function<Result<void>()>& activity) {
  if (!runs_privileged()) return activity();
  CapabilitySets saved_sets{};
  CTPROF_TRY(call_capability_syscall(SYS_capget, "reading", saved_sets));
  CapabilitySets lowered_sets = saved_sets;
  for (auto& words : lowered_sets) words.effective = 0;
  CTPROF_TRY(set_capabilities(lowered_sets));
  const Result<void> result = activity();
  CTPROF_TRY(set_capabilities(saved_sets));
  return result;
}

namespace {

Error missing_output_error(const OutputOptions& options) {
  if (options.output.empty()) return {"missing -o FILE, for example -o before.ctprof.zst"};
  return {"a snapshot is binary; use -o FILE, or redirect standard output"};
}

// Opens the destination with the user's own privileges.
Result<Destination> open_destination(const std::string& path) {
  std::optional<Destination> destination;
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    auto checked = check_output(path);
    if (!checked) return checked.error();
    destination = std::move(*checked);
    return {};
  }));
  return std::move(*destination);
}

}  // namespace

Result<Target> open_target(const OutputOptions& options) {
  const bool to_stdout = is_standard_output(options.output);
  if (options.output.empty() || (to_stdout && ::isatty(output_fd()) == 1))
    return missing_output_error(options);
  CTPROF_TRY_VALUE(auto destination, open_destination(to_stdout ? "-" : options.output));
  return Target{std::move(destination), to_stdout, to_stdout ? "standard output" : options.output};
}

Result<void> check_target_replaceable(const Target& target, const OutputOptions& options,
                                      const FileKind& kind) {
  if (options.force) return {};
  return without_privileges([&] { return check_replaceable(target.destination, kind); });
}

std::string describe_unwritten(const Target& target) {
  const std::string name = make_printable_short(target.name, kMaxNameBytesInMessage);
  return "nothing was written to " + (target.is_stdout ? name : "'" + name + "'");
}

std::string describe_partial_write(const Target& target) {
  return target.is_stdout ? "the output is incomplete"
                          : "'" + make_printable_short(target.name, kMaxNameBytesInMessage) +
                                "' was being written: it is complete, or was not written";
}

Result<Target> open_checked_target(const OutputOptions& options, const FileKind& kind) {
  CTPROF_TRY_VALUE(auto target, open_target(options));
  CTPROF_TRY(check_target_replaceable(target, options, kind));
  return target;
}

}  // namespace ctprof::cli
