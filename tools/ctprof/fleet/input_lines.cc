#include "tools/ctprof/fleet/input_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

#include "core/compare/request/expressions.hpp"

namespace ctprof::cli {

Result<std::optional<std::string>> InputLines::read_line(std::size_t max_bytes) {
  for (;;) {
    const auto end = text_.find('\n', searched_bytes_);
    if (end != text_.npos || (at_end_ && !text_.empty())) {
      std::string line = text_.substr(0, end);
      text_.erase(0, std::min(end, text_.size() - 1) + 1);
      searched_bytes_ = 0;
      ++number_;
      return std::optional(std::move(line));
    }
    if (at_end_) return std::optional<std::string>();
    searched_bytes_ = text_.size();
    if (text_.size() > max_bytes)
      return Error{"line " + std::to_string(number_ + 1) + " is too long"};
    CTPROF_TRY(read_more());
  }
}

Result<void> InputLines::read_more() {
  constexpr std::size_t kChunkBytes = 1 << 20;
  const std::size_t size = text_.size();
  text_.resize(size + kChunkBytes);
  ssize_t bytes_read = 0;
  do bytes_read = ::read(STDIN_FILENO, text_.data() + size, kChunkBytes);
  while (bytes_read < 0 && errno == EINTR);
  text_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(bytes_read, 0)));
  if (bytes_read < 0) return errno_error("reading", "standard input", errno);
  at_end_ = bytes_read == 0;
  return {};
}

Result<boost::json::object> parse_object(const std::string& read_line) {
  boost::system::error_code failed;
  boost::json::value value = boost::json::parse(read_line, failed);
  if (failed || !value.is_object()) return Error{"is not a JSON object"};
  return std::move(value.get_object());
}

Result<std::optional<Condition>> parse_about_condition(const boost::json::object& object) {
  const boost::json::value *about = object.if_contains("about"), *axis = object.if_contains("axis");
  if (!about || about->is_null()) return std::optional<Condition>();
  const auto text_of = [](const boost::json::value* value, std::string_view otherwise) {
    return value && value->is_string() ? std::string_view(value->get_string()) : otherwise;
  };
  CTPROF_TRY_VALUE(auto condition, parse_about(text_of(about, {}), text_of(axis, kGroupName)));
  return std::optional(std::move(condition));
}

}  // namespace ctprof::cli
