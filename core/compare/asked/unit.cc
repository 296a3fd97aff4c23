// All sources of core/compare/asked, which are compiled as one.

#include "core/compare/asked/expressions.cc"
#include "core/compare/asked/path_glob.cc"
#include "core/compare/asked/spec.cc"
