// What the kernel wrote, as ctprof takes it.

#pragma once

#include <cstdint>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {

// The recorder's offers, by `offer` of a record.
inline constexpr std::uint32_t kStacksOffer = 0, kSamplesOffer = 1;

// Points into the sample.
sdk::Record record_of(const Sample& sample, const Sampling& how, std::uint64_t at_ns);

// Hands over the sample's stack, and that it is one more.
void put_sample(const sdk::Records& records, const Sample& sample, const Sampling& how,
                std::uint64_t at_ns);

// Hands over what a record of type MMAP2, FORK, EXIT or COMM says of a process's memory; nothing
// where it says nothing of that, as of threads.
void put_change(const sdk::Records& records, Bytes record, std::uint64_t at_ns);

}  // namespace ctprof::on_cpu
