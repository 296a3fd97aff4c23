// Reads a perf ring buffer, which is memory that the kernel writes.
//
// The kernel writes consecutive records, and wraps around at the end; the reader publishes its own
// position. A record that crosses the end is assembled in a separate buffer. The kernel never
// overwrites records that were not released. It drops new records instead, and reports them in a
// record of type LOST.
//
//   ring.look_for_records();
//   for (; !ring.record().empty(); ring.skip()) take(ring.record());
//   ring.release();
//
// Threads: one reads.

#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ctprof::on_cpu {

// The bytes of one record, including its header; aligned to eight.
using Bytes = std::span<const std::byte>;

perf_event_header read_header(Bytes record);

class Ring {
 public:
  // Reads a ring in memory: the kernel's page, and `size` bytes of data, a power of two. The caller
  // owns both, and they must outlive this object.
  Ring(perf_event_mmap_page* page, const std::byte* data, std::size_t size);

  // Makes records readable that were written until now.
  void look_for_records();
  // Returns the record at the front, as of the last look_for_records(); empty if there is none.
  Bytes record() const { return record_; }
  // Goes to the next record.
  void skip();
  // Returns the number of bytes before that record, since the ring was created.
  std::uint64_t position() const { return position_; }
  // Lets the kernel overwrite the skipped records.
  void release();
  // Returns how often the ring contained an invalid record; all data after it were dropped.
  std::uint64_t invalid_count() const { return invalid_count_; }
  std::size_t size() const { return size_; }

 private:
  void find_record();

  perf_event_mmap_page* page_;
  const std::byte* data_;
  std::size_t size_;
  std::uint64_t position_;
  std::uint64_t end_position_;
  std::uint64_t invalid_count_ = 0;
  Bytes record_;
  std::vector<std::uint64_t> wrapped_record_;  // for a record that crosses the end
};

}  // namespace ctprof::on_cpu
