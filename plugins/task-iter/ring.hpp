// Reads a BPF ring buffer through its memory mapping.
//
// The kernel writes consecutive records, each after a word with its length and state. The reader
// publishes its own position. The data are mapped twice in a row, so that a record that crosses the
// end is contiguous.
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
  // Maps the buffer of the descriptor, which the caller owns. `size` is the size at creation.
  // Throws std::system_error if the kernel refuses.
  Ring(int buffer, std::size_t size);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Calls handle_record(bytes) for each record until it returns false, or no finished record is
  // left. A record that was refused is delivered again. The bytes are valid until the call returns.
  template <class Take>
  void read(Take handle_record) {
    for (FoundRecord record; (record = next()).header != 0; skip(record))
      if ((record.header & kDiscarded) == 0 && !handle_record(record.bytes)) return;
  }

 private:
  static constexpr std::uint32_t kBusy = 1u << 31;
  static constexpr std::uint32_t kDiscarded = 1u << 30;

  struct FoundRecord {
    std::uint32_t header = 0;  // 0: none
    std::span<const std::byte> bytes;
  };
  FoundRecord next() const;
  void skip(const FoundRecord& record);

  std::size_t size_;
  std::size_t page_size_;
  std::byte* consumer_page_;  // the page of the reader's position
  std::byte* producer_page_;  // the page of the kernel's position, and the data twice
};

}  // namespace ctprof::task_iter
