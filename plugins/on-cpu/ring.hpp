// A perf ring buffer: pages that the kernel writes and we see.
//
// The kernel writes records one behind the other, round and round; we say up to where we have read.
// A record that goes over the end is put together in a buffer of ours. What was not given back is
// never written over: the kernel loses new records instead, and says so in one of type LOST.
//
//   ring.look();
//   for (; !ring.record().empty(); ring.skip()) take(ring.record());
//   ring.give_back();
//
// Threads: one reads.

#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ctprof::on_cpu {

// Bytes of one record, its header included; aligned to eight.
using Bytes = std::span<const std::byte>;

perf_event_header header_of(Bytes record);

class Ring {
 public:
  // Reads a ring in memory: the kernel's page, and `size` bytes of data, a power of two; both stay
  // the caller's, and must outlive it.
  Ring(perf_event_mmap_page* page, const std::byte* data, std::size_t size);

  // Takes notice of what was written until now.
  void look();
  // The record at the front of what was written when we last looked; empty if there is none.
  Bytes record() const { return record_; }
  // Goes on to the next one.
  void skip();
  // How many bytes there were before that record, since the ring was made.
  std::uint64_t position() const { return position_; }
  // Lets the kernel write over what was skipped.
  void give_back();
  // How often something stood in the ring that is no record; what stood behind it was dropped.
  std::uint64_t torn() const { return torn_; }
  std::size_t size() const { return size_; }

 private:
  void find();

  perf_event_mmap_page* page_;
  const std::byte* data_;
  std::size_t size_;
  std::uint64_t position_;
  std::uint64_t written_;
  std::uint64_t torn_ = 0;
  Bytes record_;
  std::vector<std::uint64_t> whole_;  // of a record that goes over the end
};

}  // namespace ctprof::on_cpu
