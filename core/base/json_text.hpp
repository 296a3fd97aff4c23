// JSON appended to a string, for reports, which build theirs so: everything as JsonWriter writes it
// for people.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"

namespace ctprof {

void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, const ctprof_number& number);
void append_json(std::string& out, const Difference& difference);
void append_json(std::string& out, double value);
void append_json(std::string& out, std::uint64_t value);

// JSON that somebody else made. REQUIRES: valid JSON without blanks outside strings.
void append_made_json(std::string& out, std::string_view json);

}  // namespace ctprof
