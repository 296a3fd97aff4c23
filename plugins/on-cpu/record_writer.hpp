// Converts records of the kernel to records of ctprof.

#pragma once

#include <cstdint>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {

// The recorder's offers, as in `offer` of a record.
inline constexpr std::uint32_t kStacksOffer = 0, kSamplesOffer = 1;

// Returns a record that points into the sample.
sdk::Record make_record(const Sample& sample, const Sampling& sampling, std::uint64_t at_ns);

// Writes the sample's stack, and adds one to the number of samples.
void write_sample(const sdk::Records& records, const Sample& sample, const Sampling& sampling,
                  std::uint64_t at_ns);

// Writes the change of a process's memory in a record of type MMAP2, FORK, EXIT or COMM; writes
// nothing if there is none, for example for threads.
void write_change(const sdk::Records& records, Bytes record, std::uint64_t at_ns);

}  // namespace ctprof::on_cpu
