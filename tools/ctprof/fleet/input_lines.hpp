// Standard input of `judge` and `match`: lines of JSON, and the condition of --about.

#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/expression/condition.hpp"

namespace ctprof::cli {

// Lines of standard input. Threads: one.
class InputLines {
 public:
  // None at the end; the error is one where a line is longer than that.
  Result<std::optional<std::string>> line(std::size_t most);
  // "line 3", the one that was read last.
  std::string place() const { return "line " + std::to_string(number_); }

 private:
  Result<void> read_more();

  std::string text_;
  std::size_t searched_ = 0, number_ = 0;
  bool at_end_ = false;
};

Result<boost::json::object> object_in(const std::string& line);

// The condition on names of groups: the member `about`, which names groups as `axis` does. None
// where it is null or missing.
Result<std::optional<Condition>> about_in(const boost::json::object& object);

}  // namespace ctprof::cli
