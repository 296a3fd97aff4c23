// All sources of core/expression, which are compiled as one.

#include "core/expression/condition.cc"
#include "core/expression/expression.cc"
#include "core/expression/expression_parser.cc"
#include "core/expression/program.cc"
#include "core/expression/tree.cc"
