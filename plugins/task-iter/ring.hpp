// A BPF ring buffer, read by hand: pages that the kernel writes and we see.
//
// The kernel writes records one after the other, each behind a word that says how long it is and
// whether it is done; we say up to where we have read. The data are mapped twice in a row, so that
// a record that goes over the end is in one piece all the same.
//
// Threads: one reads.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ctprof::task_iter {

class Ring {
 public:
  // Maps the buffer behind the descriptor, which stays the caller's. `size`: as it was made. Throws
  // std::system_error when the kernel refuses.
  Ring(int buffer, std::size_t size);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Calls `take(bytes)` for each record until `take` returns false, or there is none that is done.
  // A record that was not taken comes again. The bytes live until the call returns.
  template <class Take>
  void read(Take take) {
    for (Found found; (found = next()).header != 0; skip(found))
      if ((found.header & kDiscarded) == 0 && !take(found.bytes)) return;
  }

 private:
  static constexpr std::uint32_t kBusy = 1u << 31;
  static constexpr std::uint32_t kDiscarded = 1u << 30;

  struct Found {
    std::uint32_t header = 0;  // 0: none
    std::span<const std::byte> bytes;
  };
  Found next() const;
  void skip(const Found& found);

  std::size_t size_;
  std::size_t page_;
  std::byte* read_until_;  // the page of our position
  std::byte* written_;     // the page of the kernel's, and the data twice
};

}  // namespace ctprof::task_iter
