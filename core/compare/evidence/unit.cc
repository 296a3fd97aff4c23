// All sources of core/compare/evidence, which are compiled as one.

#include "core/compare/evidence/designs.cc"
#include "core/compare/evidence/evidence.cc"
#include "core/compare/evidence/row_family.cc"
