// Collects one JSON value, event by event, as compact text: for keys that this version does not
// know, and for sections that are read as a whole. Numbers keep their spelling.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {

class RawCollector {
 public:
  // From here on the events are of one value. Without `keep` they are only counted.
  void begin(bool keep) {
    keep_ = keep;
    is_too_large_ = false;
    depth_ = 0;
    out_.clear();
  }

  // Each of the following returns whether the value is complete.
  bool key(std::string_view name) {
    if (keep_) out_.key(name);
    return false;
  }
  bool text(std::string_view text) {
    if (keep_) out_.text(text);
    return end_of_value();
  }
  // A number, true, false or null.
  bool plain(std::string_view json) {
    if (keep_) out_.raw(json);
    return end_of_value();
  }
  bool open(char bracket) {
    if (keep_) out_.put(bracket);
    ++depth_;
    return false;
  }
  bool close(char bracket) {
    if (keep_) out_.close(bracket);
    --depth_;
    return end_of_value();
  }

  // Whether it was more than a section may be; the rest was then only counted.
  bool is_too_large() const { return is_too_large_; }
  // The value. REQUIRES: complete, and kept.
  std::string take() {
    std::string json(out_.view().substr(0, out_.size() - 1));
    if (json.size() > kWorthKeeping) out_ = JsonWriter();
    return json;
  }

 private:
  static constexpr std::size_t kWorthKeeping = limits::kMiB;  // of room, for the next value

  bool end_of_value() {
    if (keep_) out_.put(',');
    if (out_.size() > limits::kSectionBytes) keep_ = !(is_too_large_ = true);
    return depth_ == 0;
  }

  JsonWriter out_;
  std::size_t depth_ = 0;
  bool keep_ = false;
  bool is_too_large_ = false;
};

}  // namespace ctprof
