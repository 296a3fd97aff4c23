// Compiles all sources of core/statistics as one translation unit.

#include "core/statistics/autocorrelation.cc"
#include "core/statistics/eligible_rows.cc"
#include "core/statistics/family.cc"
#include "core/statistics/interval.cc"
#include "core/statistics/labellings.cc"
