// Work shared by a few threads, as by share() (core/base/workers.hpp), while the calling thread
// watches over them.
//
// A thread that a process in /proc holds up (held.hpp) cannot be called back. It is given up: a
// signal waits for it, whose handler never returns, so that it runs no more code of ours when the
// kernel lets it go at last. All that it had in hand is left to it, for the kernel may still write
// there; nobody waits for it at exit, where the kernel ends it. Another thread takes its place, and
// does its piece again.
//
// A thread that waits for anything else is waited for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ctprof {

struct Watch {
  // The open directory /proc; -1 where it is a recorded tree, which holds up nobody: then this is
  // share().
  int proc;
  // A worker was given up, by this process: whatever it used is to be replaced and left where it
  // is. Called by the calling thread.
  std::function<void(unsigned worker, std::uint64_t process)> lost;
  // Every other worker takes pieces from the end: so that work of two kinds, one at each end, that
  // waits for different things goes on at the same time.
  bool from_both_ends = false;
};

// As share(), with one more thread. Where there is none to be had, the calling thread does all,
// unwatched.
std::vector<std::uint64_t> share_watched(unsigned workers, std::size_t pieces,
                                         const std::function<void(unsigned, std::size_t)>& work,
                                         const Watch& watch);

}  // namespace ctprof
