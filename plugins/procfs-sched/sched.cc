#include "plugins/procfs-sched/sched.hpp"

#include <algorithm>
#include <utility>

#include "ctprof/files.hpp"
#include "plugins/shared/text_formats.hpp"

namespace ctprof::procfs {
namespace {

constexpr std::string_view kExtEnabled = "ext.enabled";

// Looks up keys by a hash without collisions, because each thread needs sixty lookups. REQUIRES:
// the key has at least kMinKeySize letters.
constexpr std::size_t kSlots = 128;
constexpr std::size_t kMinKeySize = 3;
constexpr std::size_t hash_slot(std::string_view key) {
  const auto letter_at = [&](std::size_t index) {
    return static_cast<std::size_t>(static_cast<unsigned char>(key[index]));
  };
  return (key.size() + letter_at(0) +
          11 * (letter_at(key.size() / 2) + letter_at(key.size() - kMinKeySize))) %
         kSlots;
}

constexpr std::uint8_t kNoKey = 255;
constexpr std::array<std::uint8_t, kSlots> kSlotTable = [] {
  std::array<std::uint8_t, kSlots> table{};
  table.fill(kNoKey);
  for (std::size_t i = 0; i < kSchedKeys.size(); ++i)
    table[hash_slot(kSchedKeys[i].text)] = static_cast<std::uint8_t>(i);
  return table;
}();
static_assert(
    [] {
      for (std::size_t i = 0; i < kSchedKeys.size(); ++i)
        if (kSlotTable[hash_slot(kSchedKeys[i].text)] != i) return false;
      return true;
    }(),
    "two keys share a slot: change slot_of");

// The first word of a line, up to a blank or the colon, and its part after the last dot. Both are
// found in one loop, because each thread has sixty lines.
struct Word {
  std::string_view all;
  std::string_view last_part;
};

Word first_word(std::string_view line) {
  std::size_t end = 0;
  std::size_t part_start = 0;
  for (; end < line.size() && line[end] != ' ' && line[end] != ':'; ++end)
    if (line[end] == '.') part_start = end + 1;
  return {line.substr(0, end), line.substr(part_start, end - part_start)};
}

// Returns its position in kSchedKeys, or kNoKey if the key is not read.
std::uint8_t find_key(const Word& word) {
  const std::string_view key = word.all == kExtEnabled ? word.all : word.last_part;
  if (key.size() < kMinKeySize) return kNoKey;
  const std::uint8_t position = kSlotTable[hash_slot(key)];
  return position != kNoKey && kSchedKeys[position].text == key ? position : kNoKey;
}

void parse_line(std::string_view line, Sched& sched) {
  const Word word = first_word(line);
  const std::uint8_t key = find_key(word);
  if (key == kNoKey) return;
  line = sdk::bare(line.substr(word.all.size()));
  if (!line.starts_with(':')) return;  // no value, or a key of two words
  line = sdk::bare(line.substr(1));
  bool is_negative = false;
  sched[key] = kSchedKeys[key].format == NumberFormat::Plain ? sdk::number<std::uint64_t>(line)
                                                             : parse_dotted_ns(line, is_negative);
  if (is_negative) ++sched.negative_times;
}

// Removes the text up to and including the line of dashes. The line is longer than any thread name,
// so no name can imitate it.
bool skip_header(std::string_view& text) {
  constexpr std::string_view kDashes = "\n--------------------------------";
  const auto dashes = text.find(kDashes);
  if (dashes == text.npos) return false;
  text.remove_prefix(dashes + 1);
  sdk::take(text, '\n');
  return true;
}

bool take_minus(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

// Returns the digits after the decimal point of a number of milliseconds as nanoseconds: cut or
// padded to six digits.
sdk::Reading<std::uint64_t> fraction_ns(std::string_view text) {
  constexpr std::size_t kDigits = 6;
  if (text.empty()) return Gap::Malformed;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::max(kDigits, text.size()); ++i) {
    const char digit = i < text.size() ? text[i] : '0';
    if (digit < '0' || digit > '9') return Gap::Malformed;
    if (i < kDigits) value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

}  // namespace

Sched::Sched()
    : readings_([]<std::size_t... I>(std::index_sequence<I...>) {
        return decltype(readings_){
            (kSchedKeys[I].needs_schedstats ? Gap::SwitchedOff : Gap::Unsupported)...};
      }(std::make_index_sequence<kSchedKeys.size()>())) {}

sdk::Reading<std::uint64_t> parse_dotted_ns(std::string_view text, bool& is_negative) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const bool is_dotted = text.find('.') != text.npos;
  std::string_view whole = sdk::take(text, '.');
  std::string_view fraction = is_dotted ? text : "0";
  const bool is_negative_whole = take_minus(whole);
  const bool is_negative_fraction = take_minus(fraction);
  const auto ms = sdk::number<std::uint64_t>(whole);
  const auto ns = fraction_ns(fraction);
  if (!ms || !ns) return Gap::Malformed;
  is_negative = is_negative_whole || is_negative_fraction;
  if (is_negative) return std::uint64_t{0};
  if (!is_dotted) return ms.value;
  std::uint64_t total = 0;
  const bool overflows = __builtin_mul_overflow(ms.value, kNsPerMs, &total) ||
                         __builtin_add_overflow(total, ns.value, &total);
  return overflows ? sdk::Reading<std::uint64_t>(Gap::Malformed) : total;
}

Sched parse_sched(std::string_view text) {
  Sched sched;
  if (!skip_header(text)) {
    for (std::size_t i = 0; i < kSchedKeys.size(); ++i) sched[i] = Gap::Malformed;
    return sched;
  }
  while (!text.empty()) parse_line(sdk::take(text, '\n'), sched);
  return sched;
}

sdk::ReadingOf<sdk::MonotonicNs> compute_voluntary_sleep(const Sched& sched) {
  const auto& sleep = sched.key<"sum_sleep_runtime">();
  const auto& block = sched.key<"sum_block_runtime">();
  if (!sleep) return sleep.gap;
  if (!block) return block.gap;
  return sleep.value > block.value ? sleep.value - block.value : std::uint64_t{0};
}

sdk::ReadingOf<sdk::GaugeNs> read_fair_slice(const Sched& sched) {
  const auto& policy = sched.key<"policy">();
  if (policy && !has_fair_slice(policy.value)) return Gap::NotApplicable;
  return sched.key<"slice">();
}

sdk::ReadingOf<sdk::Flag> read_ext_enabled(const Sched& sched) {
  const auto& enabled = sched.key<"ext.enabled">();
  if (!enabled) return enabled.gap;
  return enabled.value != 0;
}

void SchedFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Sched sched = parse_sched(text);
  get<SchedPlain>().put(thread.row, sched);
  get<SchedStatistics>().put(thread.row, sched);
  get<SchedComputed>().put(thread.row, sched);
  negative_times_ += sched.negative_times;
}

}  // namespace ctprof::procfs
