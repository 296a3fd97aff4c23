// The file's `host` object, in the reference's layout: what two hosts must have in common for their
// captures to be compared, and what may explain that they differ. Processor, memory, kernel and its
// command line, scheduler tunables; not the host's name.

#pragma once

#include "ctprof/host.hpp"
#include "ctprof/source.hpp"

namespace ctprof::host {

// Reads and puts it. What cannot be read is left out.
void put_facts(const sdk::Host& host, const sdk::Summary& summary);

}  // namespace ctprof::host
