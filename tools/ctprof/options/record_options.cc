#include "tools/ctprof/options/record_options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/archive/time_text.hpp"
#include "core/base/text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/options/amounts.hpp"
#include "tools/ctprof/options/option_values.hpp"

namespace ctprof::cli {
namespace {

constexpr Range kFrequencies{1, 4000, "a number of samples per second from 1 to 4000"};
constexpr Range kDepths{1, 1024, "a number of frames from 1 to 1024"};
constexpr Range kStackSizes{1 << 10, 64 << 10, "a size from 1K to 64K"};
constexpr Range kRingSizes{4 << 10, 1 << 30, "a size from 4K to 1G"};

constexpr Range kSleeperFrequencies{1, 250, "a number of passes per second from 1 to 250"};
constexpr Range kSamplingPeriods{10'000, 10'000'000'000, "a time from 10us to 10s"};
constexpr Range kBudgets{100, 1'000'000, "a share of all CPUs from 0.01% to 100%"};

// Parses "1%" or "0.5%" as parts per million. Returns 0 if the text is not a percentage.
std::uint64_t parse_percent_as_ppm(std::string_view text) {
  constexpr double kPpmOfPercent = 1e4, kMaxPercent = 1e9;
  char* end = nullptr;
  const std::string whole(text);
  const double number = std::strtod(whole.c_str(), &end);
  const bool is_share = end != whole.c_str() && std::string_view(end) == "%";
  return is_share && number > 0 && number < kMaxPercent
             ? static_cast<std::uint64_t>(number * kPpmOfPercent)
             : 0;
}

// "8192", "8K", "32M", "1G".
std::uint64_t parse_scaled_number(std::string_view text) {
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

class RecordOptionsReader {
 public:
  explicit RecordOptionsReader(const OptionValues& values) : values_(values) {}

  Result<RecordOptions> read() {
    read_recorders();
    read_number("freq", kFrequencies, options_.frequency_hz);
    read_number("max-depth", kDepths, options_.max_depth);
    read_number("stack-bytes", kStackSizes, options_.stack_bytes);
    read_number("ring", kRingSizes, options_.ring_bytes);
    read_number("sleepers-freq", kSleeperFrequencies, options_.passes_hz);
    read_number("offcpu-period", kSamplingPeriods, options_.period_ns, parse_duration);
    read_number("budget", kBudgets, options_.budget_ppm, parse_percent_as_ppm);
    read_unwind();
    read_waits();
    options_.inherits = !has_option(values_, "no-inherit");
    if (!error_.text.empty()) return error_;
    return options_;
  }

 private:
  const std::string* find_last_value(const char* name) const {
    return has_option(values_, name) ? &last_value(values_, name) : nullptr;
  }

  void fail(std::string text) {
    if (error_.text.empty()) error_.text = std::move(text);
  }

  void read_recorders() {
    const std::string* names = find_last_value("recorders");
    if (names)
      for (const std::string_view name : split(*names))
        options_.recorders.emplace_back(sdk::trimmed(name));
    for (const char* option : {"freq", "max-depth", "stack-bytes", "ring", "unwind",
                               "sleepers-freq", "offcpu-period", "offcpu-stacks", "budget"})
      if (!names && find_last_value(option))
        fail("--" + std::string(option) + " requires recorders, such as --recorders on-cpu");
  }

  template <class Number>
  void read_number(const char* name, const Range& range, Number& out,
                   ReadAmount read = parse_scaled_number) {
    if (auto done = read_amount(values_, name, range, read, out); !done) fail(done.error().text);
  }

  bool check_choice(const char* name, const std::string& word,
                    const std::vector<std::string>& words) {
    const bool is_known = std::ranges::find(words, word) != words.end();
    if (!is_known) fail(invalid_choice_error(name, word, words).text);
    return is_known;
  }

  void read_unwind() {
    const std::string* unwind_method = find_last_value("unwind");
    if (!unwind_method || !check_choice("unwind", *unwind_method, {"cfi", "fp"})) return;
    options_.user_kind = *unwind_method == "fp" ? CTPROF_USER_ADDRESSES : CTPROF_USER_COPY;
  }

  void read_waits() {
    const std::string* waits = find_last_value("offcpu-stacks");
    if (!waits || !check_choice("offcpu-stacks", *waits, {"blocked", "all", "every"})) return;
    options_.records_all_waits = *waits != "blocked";
    options_.records_every_stack = *waits == "every";
  }

  const OptionValues& values_;
  RecordOptions options_;
  Error error_;
};

}  // namespace

Result<RecordOptions> read_record_options(const OptionValues& values) {
  return RecordOptionsReader(values).read();
}

}  // namespace ctprof::cli
