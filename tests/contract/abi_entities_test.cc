// The layout of the structs of entities of plugins, as abi_layout_test.cc checks all others.

#include <cstddef>

#include "ctprof/abi.h"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes) && alignof(type) == 8)
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset))

SIZE(ctprof_entity_type, 40);
AT(ctprof_entity_type, size, 0);
AT(ctprof_entity_type, reserved, 4);
AT(ctprof_entity_type, name, 8);
AT(ctprof_entity_type, description, 16);
AT(ctprof_entity_type, derived, 24);

int main() {}
