// Want of file descriptors: an own reason why cells fail, which the user can mend.
//
// TextFile notes it by itself; whoever opens files in another way calls note_shortage with the
// errno. What a plugin noted, its sources tell the core at the end of a batch, and the capture
// tells it once.
//
// Why a word of its own? An empty report of a host with 100,000 threads would look like missing
// rights or a broken plugin, while raising a limit is all that is needed.
//
// Threads: any.

#pragma once

#include <atomic>
#include <cerrno>

namespace ctprof::sdk {

// Whether an errno says that descriptors ran out, of the process or of the host.
constexpr bool is_shortage(int error) { return error == EMFILE || error == ENFILE; }

// The last such errno that nobody has told of yet; 0: none. One for each plugin, and one for the
// core.
inline std::atomic<int> noted_shortage{0};

// Call it with the errno of every open that failed, of whatever kind; others are passed over.
inline void note_shortage(int error) {
  if (is_shortage(error)) noted_shortage.store(error, std::memory_order_relaxed);
}

// What to tell of it, and no longer noted; null: nothing. The SDK calls it after each batch; you
// need it only for work outside of `collect`.
//
//   const int socket = ::socket(...);
//   if (socket < 0) sdk::note_shortage(errno);
inline const char* take_shortage() {
  if (noted_shortage.load(std::memory_order_relaxed) == 0) return nullptr;
  return noted_shortage.exchange(0) == EMFILE
             ? "file descriptors ran out (Too many open files): what needed one is SourceFailed; "
               "raise the limit (ulimit -n) and "
               "capture again"
             : "the host ran out of file descriptors (Too many open files in system): what needed "
               "one is SourceFailed; raise "
               "fs.file-max, or close files elsewhere, and capture again";
}

}  // namespace ctprof::sdk
