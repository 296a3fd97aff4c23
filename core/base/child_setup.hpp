// The start and the end of child processes that run code of this program.

#pragma once

#include <vector>

namespace ctprof {

// In the child: closes all other descriptors.
void close_all_except(std::vector<int> kept_descriptors);

// In the child: opens /dev/null for standard descriptors that are closed, so that output to them
// cannot reach a file that is opened later.
void fill_standard_descriptors();

// In the parent: abandons a child that was killed but may not exit. Abandoned children of all
// objects become zombies when they exit. They are reaped when the next child is abandoned.
void reap_later(int process);

}  // namespace ctprof
