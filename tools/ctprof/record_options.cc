#include "tools/ctprof/record_options.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

// What a number may be, as people write it.
struct Range {
  std::uint64_t least, most;
  const char* words;
};
constexpr Range kFrequencies{1, 4000, "a number of samples a second from 1 to 4000"};
constexpr Range kDepths{1, 1024, "a number of frames from 1 to 1024"};
constexpr Range kStacks{1 << 10, 64 << 10, "a size from 1K to 64K"};
constexpr Range kRings{4 << 10, 1 << 30, "a size from 4K to 1G"};

// "8192", "8K", "32M", "1G".
std::uint64_t number_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  unsigned shift = 0;
  if (!text.empty())
    if (const auto unit = kUnits.find(text.back()); unit != kUnits.npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  const auto number = sdk::number<std::uint64_t>(text);
  return number && number.value <= UINT64_MAX >> shift ? number.value << shift : 0;
}

class Reader {
 public:
  explicit Reader(const boost::program_options::variables_map& given) : given_(given) {}

  Result<RecordOptions> read() {
    read_recorders();
    read_number("freq", kFrequencies, options_.frequency_hz);
    read_number("max-depth", kDepths, options_.depth);
    read_number("stack-bytes", kStacks, options_.stack_bytes);
    read_number("ring", kRings, options_.ring_bytes);
    read_unwind();
    if (!error_.text.empty()) return error_;
    return options_;
  }

 private:
  const std::string* last(const char* name) const {
    return given_.count(name) == 0 ? nullptr : &given_[name].as<std::vector<std::string>>().back();
  }

  void fail(std::string text) {
    if (error_.text.empty()) error_.text = std::move(text);
  }

  void read_recorders() {
    const std::string* names = last("recorders");
    if (names)
      for (const std::string_view name : split(*names))
        options_.recorders.emplace_back(sdk::trimmed(name));
    for (const char* option : {"freq", "max-depth", "stack-bytes", "ring", "unwind"})
      if (!names && last(option))
        fail("--" + std::string(option) + " is for recorders: say which, as --recorders on-cpu");
  }

  template <class Number>
  void read_number(const char* name, const Range& range, Number& out) {
    const std::string* text = last(name);
    if (!text) return;
    const std::uint64_t number = number_of(*text);
    if (number < range.least || number > range.most)
      return fail("--" + std::string(name) + ": '" + *text + "' is not " + range.words);
    out = static_cast<Number>(number);
  }

  void read_unwind() {
    const std::string* way = last("unwind");
    if (!way) return;
    if (*way != "cfi" && *way != "fp")
      return fail("invalid --unwind '" + *way + "' (choose cfi, fp)");
    options_.user_kind = *way == "fp" ? CTPROF_USER_ADDRESSES : CTPROF_USER_COPY;
  }

  const boost::program_options::variables_map& given_;
  RecordOptions options_;
  Error error_;
};

}  // namespace

Result<RecordOptions> read_record_options(const boost::program_options::variables_map& given) {
  return Reader(given).read();
}

}  // namespace ctprof::cli
