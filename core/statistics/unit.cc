// All sources of core/statistics, which are compiled as one.

#include "core/statistics/autocorrelation.cc"
#include "core/statistics/eligible.cc"
#include "core/statistics/family.cc"
#include "core/statistics/interval.cc"
#include "core/statistics/labellings.cc"
