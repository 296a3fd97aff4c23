#include "tools/ctprof/commands/interleave.hpp"

#include <poll.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <optional>

#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/commands/child_command.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

constexpr std::array kSideDirectories{"a", "b"};

Result<std::uint64_t> generate_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
  return errno_error("drawing", "a random order", errno);
}

Error interrupted_error() { return Error{"interrupted; the runs so far are kept"}; }

// Runs the command and waits until it exits. Fails if its exit status is not 0.
Result<void> run_preparation(const std::string& text) {
  CTPROF_TRY_VALUE(auto command, ChildCommand::fork_waiting({"/bin/sh", "-c", text}));
  CTPROF_TRY(command.run());
  std::array<pollfd, 2> poll_fds{{{command.exit_fd(), POLLIN, 0}, {interrupted_fd(), POLLIN, 0}}};
  while (poll_fds[0].revents == 0) {
    if (::poll(poll_fds.data(), poll_fds.size(), -1) < 0 && errno != EINTR)
      return errno_error("waiting for", text, errno);
    if (poll_fds[1].revents != 0) return interrupted_error();
  }
  const auto status = command.status();
  if (status && *status == 0) return {};
  return error("preparing a run by", text,
               "its exit status was " + std::to_string(status.value_or(0)));
}

Result<void> record_side(const RecordCommandOptions& options, std::uint64_t seed,
                         std::uint64_t pair, std::size_t side, const RecordRun& record) {
  CTPROF_TRY(run_preparation(options.interleave[side]));
  RecordCommandOptions side_options = options;
  side_options.output += std::string("/") + kSideDirectories[side];
  side_options.pair = InterleavedPair{seed, pair};
  CTPROF_TRY(record(side_options));
  return is_interrupted() ? Result<void>(interrupted_error()) : Result<void>();
}

}  // namespace

bool starts_with_second(std::uint64_t seed, std::uint64_t pair) {
  std::uint64_t hash = seed + pair * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return ((hash ^ (hash >> 31)) & 1) != 0;
}

Result<void> record_interleaved(const RecordCommandOptions& options, const RecordRun& record) {
  CTPROF_TRY_VALUE(const auto seed, generate_seed());
  for (std::uint64_t pair = 1; pair <= options.repeat; ++pair) {
    const std::size_t first = starts_with_second(seed, pair) ? 1 : 0;
    for (const std::size_t side : {first, 1 - first})
      CTPROF_TRY(record_side(options, seed, pair, side, record));
  }
  return {};
}

}  // namespace ctprof::cli
