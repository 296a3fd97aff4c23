// What an answer that is an error means for the thread's cells, and whether to ask once more.

#pragma once

#include <cerrno>

#include "ctprof/gap.hpp"

namespace ctprof::taskstats {

constexpr Gap gap_of_answer(int error) {
  switch (error) {
    case EPERM: return Gap::Denied;
    case ESRCH: return Gap::ThreadGone;
    case EBADMSG: return Gap::Malformed;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case ETIMEDOUT: return Gap::Busy;
    default: return Gap::SourceFailed;
  }
}

// The answer got lost, or found no room among others; alone it may come.
constexpr bool is_worth_asking_again(int error) {
  return gap_of_answer(error) == Gap::Busy || error == EMSGSIZE;
}

}  // namespace ctprof::taskstats
