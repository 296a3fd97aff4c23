#include "tools/ctprof/commands/interleave.hpp"

#include <poll.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <optional>

#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/commands/command.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

constexpr std::array kSides{"a", "b"};

Result<std::uint64_t> fresh_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
  return errno_error("drawing", "a random order", errno);
}

Error interrupted() { return Error{"interrupted; the runs so far are kept"}; }

// Runs the command and waits until it exits. Fails if its exit status is not 0.
Result<void> run_to_its_end(const std::string& text) {
  auto command = Command::hold({"/bin/sh", "-c", text});
  if (!command) return command.error();
  if (auto runs = command->run(); !runs) return runs;
  std::array<pollfd, 2> ends{{{command->ended_fd(), POLLIN, 0}, {interrupted_fd(), POLLIN, 0}}};
  while (ends[0].revents == 0) {
    if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR)
      return errno_error("waiting for", text, errno);
    if (ends[1].revents != 0) return interrupted();
  }
  const auto status = command->status();
  if (status && *status == 0) return {};
  return error("preparing a run by", text,
               "its exit status was " + std::to_string(status.value_or(0)));
}

Result<void> take_turn(const Options& options, std::uint64_t seed, std::uint64_t pair,
                       std::size_t side, const RecordRun& record) {
  if (auto ready = run_to_its_end(options.interleave[side]); !ready) return ready;
  Options turn = options;
  turn.output += std::string("/") + kSides[side];
  turn.pair = PairMark{seed, pair};
  if (auto done = record(turn); !done) return done;
  return is_interrupted() ? Result<void>(interrupted()) : Result<void>();
}

}  // namespace

bool second_goes_first(std::uint64_t seed, std::uint64_t pair) {
  std::uint64_t mixed = seed + pair * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return ((mixed ^ (mixed >> 31)) & 1) != 0;
}

Result<void> interleave(const Options& options, const RecordRun& record) {
  const auto seed = fresh_seed();
  if (!seed) return seed.error();
  for (std::uint64_t pair = 1; pair <= options.repeat; ++pair) {
    const std::size_t first = second_goes_first(*seed, pair) ? 1 : 0;
    for (const std::size_t side : {first, 1 - first})
      if (auto taken = take_turn(options, *seed, pair, side, record); !taken) return taken;
  }
  return {};
}

}  // namespace ctprof::cli
