// Passes at their time, in a thread of their own: so they come when they are due, whoever drains
// when, and a process that holds up who reads its memory holds up nobody else.
//
// A thread that waits for the memory of a process is left behind after a second, and sooner where
// others were before. Another thread goes on with its pass, which keeps all that was copied, and
// reads no more of that process. What was not looked at meanwhile is counted, as is what a budget
// left out, or what was left out because passes were not taken in time.
//
// The thread has the highest nice value that there is, where that is allowed (CAP_SYS_NICE): passes
// are short, and are to come in time also where many threads want the CPUs.
//
//   Watch watch(make_looker, pace);
//   watch.begin();
//   while (auto pass = watch.next()) { take(*pass); watch.give_back(std::move(pass), cost_ns); }
//   watch.end_window();   // passes from here on are of the next window
//
// Threads: one at a time, beside its own.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "plugins/sleepers/pass.hpp"

namespace ctprof::sleepers {

struct Pace {
  std::uint64_t every_ns = 0;
  std::uint64_t budget_ppm = 0;  // of all CPUs' time; 0: no limit
  unsigned cpus = 1;
  bool once = false;
  // Until a thread that reads from one process is taken to be held up: the first time, half of that
  // the second time, and so on, down to a sixteenth.
  std::uint64_t patience_ns = 1'000'000'000;
};

// When the next pass is due that began at `began_ns` and cost `cost_ns`, so that no more than the
// budget is spent.
std::uint64_t next_due(const Pace& pace, std::uint64_t began_ns, std::uint64_t cost_ns);

class Watch {
 public:
  // Passes that wait to be taken; a drain takes all, some fifty times a second. While there are so
  // many, further ones are left out. None is dropped: those after it would have to tell all threads
  // whole again, which takes longer to make and to take than a pass of threads that did not run.
  static constexpr std::size_t kMostWaiting = 16;

  // Makes who looks. May throw.
  using MakeLooker = std::function<std::unique_ptr<Looker>()>;

  Watch(MakeLooker make, const Pace& pace);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Throws what making a looker throws.
  void begin();
  // The oldest pass that is done and was not handed out yet, or null. The first one of a look that
  // is to be taken once is waited for. Throws what a look threw.
  std::unique_ptr<Pass> next();
  // `took_ns`: what it cost to make use of it, which counts towards the budget.
  void give_back(std::unique_ptr<Pass> pass, std::uint64_t took_ns);
  // Waits for a pass that is being made, but not for long; longer only where the window has no pass
  // yet, because a process does not answer. Returns the number of the next window,
  // whose passes tell every thread whole once more.
  std::uint32_t end_window();
  void stop();
  // What became of the time since this was last asked.
  struct Account {
    std::uint64_t made = 0;    // passes
    std::uint64_t spared = 0;  // that were due, and left out: for the budget, or they were late
    std::uint64_t unseen = 0;  // sleepers that were not looked at for that
  };
  Account take_account();
  // Processes that held us up, and are avoided.
  const std::set<std::uint32_t>& avoided() const { return avoided_; }

 private:
  struct Shared;

  std::uint64_t patience_ns() const;
  bool is_held_up() const;
  void leave();
  void look_after();

  MakeLooker make_;
  Pace pace_;
  std::set<std::uint32_t> avoided_;
  std::shared_ptr<Shared> shared_;  // the thread's, too, which may outlive this object
  std::thread thread_;
};

}  // namespace ctprof::sleepers
