// All sources of core/rules, which are compiled as one.

#include "core/rules/affinity.cc"
#include "core/rules/extremes.cc"
#include "core/rules/histograms.cc"
#include "core/rules/maps.cc"
#include "core/rules/modes.cc"
#include "core/rules/ranges.cc"
#include "core/rules/rule_set.cc"
#include "core/rules/stacks.cc"
#include "core/rules/sums.cc"
