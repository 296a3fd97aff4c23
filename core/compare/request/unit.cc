// All sources of core/compare/request, which are compiled as one.

#include "core/compare/request/expressions.cc"
#include "core/compare/request/path_glob.cc"
#include "core/compare/request/spec.cc"
