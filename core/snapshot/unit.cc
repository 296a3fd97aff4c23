// All sources of core/snapshot, compiled as one unit.

#include "core/snapshot/column.cc"
#include "core/snapshot/pool.cc"
#include "core/snapshot/snapshot.cc"
#include "core/snapshot/stack_names.cc"
