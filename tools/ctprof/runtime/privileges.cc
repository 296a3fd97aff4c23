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
constexpr std::size_t kMostNameInLoss = 700;

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

Result<void> call(long number, const char* activity, Sets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(number, &header, sets.data()) != 0)
    return errno_error(activity, "capabilities", errno);
  return {};
}

Result<void> set_capabilities(Sets sets) { return call(SYS_capset, "dropping", sets); }

}  // namespace

// The kernel removes from the ambient set by itself what is no longer permitted and inheritable.
Result<void> drop_privileges() {
  if (!runs_privileged()) return {};
  return set_capabilities({});
}

Result<void> without_privileges(const std::function<Result<void>()>& activity) {
  if (!runs_privileged()) return activity();
  Sets held{};
  if (auto known = call(SYS_capget, "reading", held); !known) return known;
  Sets lowered = held;
  for (auto& words : lowered) words.effective = 0;
  if (auto done = set_capabilities(lowered); !done) return done;
  const Result<void> result = activity();
  if (auto raised = set_capabilities(held); !raised) return raised;
  return result;
}

namespace {

Error cannot_write_here(const Options& options) {
  if (options.output.empty()) return {"missing -o FILE, for example -o before.ctprof.zst"};
  return {"a snapshot is binary; use -o FILE, or redirect standard output"};
}

// Opens the destination with the user's own privileges.
Result<Destination> open_destination(const std::string& path) {
  std::optional<Destination> destination;
  const auto found = without_privileges([&]() -> Result<void> {
    auto checked = check_output(path);
    if (!checked) return checked.error();
    destination = std::move(*checked);
    return {};
  });
  if (!found) return found.error();
  return std::move(*destination);
}

}  // namespace

Result<Target> open_target(const Options& options) {
  const bool to_stdout = names_output(options.output);
  if (options.output.empty() || (to_stdout && ::isatty(output_fd()) == 1))
    return cannot_write_here(options);
  auto destination = open_destination(to_stdout ? "-" : options.output);
  if (!destination) return destination.error();
  return Target{std::move(*destination), to_stdout, to_stdout ? "standard output" : options.output};
}

Result<void> check_replaced(const Target& target, const Options& options, const FileKind& kind) {
  if (options.force) return {};
  return without_privileges([&] { return check_replaced(target.destination, kind); });
}

std::string unwritten(const Target& target) {
  const std::string name = told_name(target.name, kMostNameInLoss);
  return "nothing was written to " + (target.is_stdout ? name : "'" + name + "'");
}

std::string half_written(const Target& target) {
  return target.is_stdout ? "the output is incomplete"
                          : "'" + told_name(target.name, kMostNameInLoss) +
                                "' was being written: it is complete, or was not written";
}

Result<Target> target_of(const Options& options, const FileKind& kind) {
  auto target = open_target(options);
  if (!target) return target;
  if (auto may = check_replaced(*target, options, kind); !may) return may.error();
  return target;
}

}  // namespace ctprof::cli
