// All sources of core/snapshot, which are compiled as one.

#include "core/snapshot/column.cc"
#include "core/snapshot/pool.cc"
#include "core/snapshot/snapshot.cc"
#include "core/snapshot/stack_names.cc"
