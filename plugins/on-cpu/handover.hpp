// What the kernel wrote, as ctprof takes it.

#pragma once

#include <cstdint>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/event.hpp"
#include "plugins/on-cpu/records.hpp"

namespace ctprof::on_cpu {

// Points into the sample.
sdk::Record record_of(const Sample& sample, const Sampling& how, std::uint64_t at_ns);

// Hands over what a record of type MMAP2, FORK, EXIT or COMM says of a process's memory; nothing
// where it says nothing of that, as of threads.
void put_change(const sdk::Records& records, Bytes record, std::uint64_t at_ns);

}  // namespace ctprof::on_cpu
