// Unity build of core/x86: compiles all its sources as one unit.

#include "core/x86/x86_decoder.cc"
