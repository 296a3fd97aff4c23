// Where text goes, piece by piece: into memory, into a file, to whoever reads our output.

#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace ctprof {

class Sink {
 public:
  virtual ~Sink() = default;
  // An error says why the text could not be taken; nothing more is to be written then.
  virtual Result<void> write(std::string_view text) = 0;
};

class StringSink final : public Sink {
 public:
  Result<void> write(std::string_view text) override {
    text_ += text;
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ctprof
