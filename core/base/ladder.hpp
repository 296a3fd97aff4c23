// Ladders: how a number in its unit is printed for people, "1.234ms" or "7.500GiB".
//
// A value in its base unit is exact; a scaled one has three decimals. The scale is chosen after
// rounding, so nothing prints "1000.000ms". Every text ends in its unit, without a space between.
//
// What is here:   values, differences and percentages, by the unit's name.
// What is not:    colours, columns (render/).

#pragma once

#include <string>
#include <string_view>

#include "core/base/number.hpp"

namespace ctprof {

// "1.234ms", "22ticks", "12.34%", "0.500" for a ratio; "-" for none.
std::string scaled(const ctprof_number& number, std::string_view unit);
// The same with a sign, always: "+5ns", "-92.457K"; "-" for none.
std::string scaled(const Difference& difference, std::string_view unit);
// A fraction in percent with a sign: "+1063.1%"; "-" for NaN.
std::string percent(double fraction);

}  // namespace ctprof
