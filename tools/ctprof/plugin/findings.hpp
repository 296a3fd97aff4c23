// The findings of the child of `plugin check`: prints each once, as a line (check.hpp).

#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {

class Findings {
 public:
  void add(std::string_view kind, const std::string& sentence) {
    if (printed_.insert(std::string(kind) + sentence).second)
      print(std::string(kind) + sentence + "\n");
  }
  void fault(const std::string& sentence) { add(kFaultLine, sentence); }

 private:
  std::set<std::string> printed_;
};

}  // namespace ctprof::cli
