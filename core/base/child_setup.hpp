// The start and the end of child processes that run code of this program.

#pragma once

#include <string>
#include <vector>

namespace ctprof {

// In the child: closes all other descriptors.
void close_all_except(std::vector<int> kept_descriptors);

// In the child: leaves the session of this program. So the child has no terminal in which it could
// type commands, and no keys of the session. It and the processes that it starts form a new process
// group.
void leave_session();

// In the child: prevents signals to processes that the child did not start, for example of other
// plugins that run as the same user, and connections to their abstract Unix sockets. Has no effect
// before Linux 6.12. REQUIRES: the child cannot acquire privileges (PR_SET_NO_NEW_PRIVS).
void confine_to_own_processes();

// Returns the variables NAME=VALUE that a child with code of others receives: those that choose
// programs, libraries, languages and times, and the named ones. Others can contain secrets, such as
// tokens of other programs. `variables`: a list that ends with a null pointer.
std::vector<std::string> keep_harmless_variables(const char* const* variables,
                                                 const std::vector<std::string>& names);

// In the child: starts this program again, with these words and variables. Returns only on failure.
void start_again(std::vector<std::string> words, std::vector<std::string> variables);

// In the child: opens /dev/null for standard descriptors that are closed, so that output to them
// cannot reach a file that is opened later.
void fill_standard_descriptors();

// In the parent: abandons a child that was killed but may not exit. Abandoned children of all
// objects become zombies when they exit. They are reaped when the next child is abandoned.
void reap_later(int process);

}  // namespace ctprof
