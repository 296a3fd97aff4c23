// Reads the standard input of `judge` and `match`: lines of JSON, and the condition of --about.

#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/expression/condition.hpp"

namespace ctprof::cli {

// The lines of standard input. Threads: one.
class InputLines {
 public:
  // Returns none at the end. Fails if a line has more than `max_bytes` bytes.
  Result<std::optional<std::string>> read_line(std::size_t max_bytes);
  // The number of the last line: "line 3".
  std::string describe_position() const { return "line " + std::to_string(number_); }

 private:
  Result<void> read_more();

  std::string text_;
  std::size_t searched_bytes_ = 0, number_ = 0;
  bool at_end_ = false;
};

Result<boost::json::object> parse_object(const std::string& read_line);

// Returns the condition on group names: the member `about`, in which `axis` names the group.
// Returns none if it is null or missing.
Result<std::optional<Condition>> parse_about_condition(const boost::json::object& object);

}  // namespace ctprof::cli
