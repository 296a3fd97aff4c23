#include "plugins/procfs-sched/sched.hpp"

#include <algorithm>
#include <utility>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"
#include "plugins/shared/policy.hpp"

namespace ctprof::procfs {
namespace {

enum class Number : std::uint8_t { Plain, Dotted };

struct Key {
  std::string_view text;  // after the last dot
  SchedKey key;
  Number number;
};

constexpr std::string_view kExtEnabled = "ext.enabled";

constexpr std::array kKeys{
    Key{"nr_migrations", SchedKey::NrMigrations, Number::Plain},
    Key{"policy", SchedKey::Policy, Number::Plain},
    Key{"slice", SchedKey::Slice, Number::Plain},
    Key{"nr_wakeups", SchedKey::NrWakeups, Number::Plain},
    Key{"nr_wakeups_local", SchedKey::NrWakeupsLocal, Number::Plain},
    Key{"nr_wakeups_remote", SchedKey::NrWakeupsRemote, Number::Plain},
    Key{"nr_wakeups_sync", SchedKey::NrWakeupsSync, Number::Plain},
    Key{"nr_wakeups_migrate", SchedKey::NrWakeupsMigrate, Number::Plain},
    Key{"nr_wakeups_affine", SchedKey::NrWakeupsAffine, Number::Plain},
    Key{"nr_wakeups_affine_attempts", SchedKey::NrWakeupsAffineAttempts, Number::Plain},
    Key{"nr_forced_migrations", SchedKey::NrForcedMigrations, Number::Plain},
    Key{"nr_failed_migrations_affine", SchedKey::NrFailedMigrationsAffine, Number::Plain},
    Key{"nr_failed_migrations_running", SchedKey::NrFailedMigrationsRunning, Number::Plain},
    Key{"nr_failed_migrations_hot", SchedKey::NrFailedMigrationsHot, Number::Plain},
    Key{"wait_sum", SchedKey::WaitSum, Number::Dotted},
    Key{"wait_count", SchedKey::WaitCount, Number::Plain},
    Key{"wait_max", SchedKey::WaitMax, Number::Dotted},
    Key{"sum_sleep_runtime", SchedKey::SumSleepRuntime, Number::Dotted},
    Key{"sleep_max", SchedKey::SleepMax, Number::Dotted},
    Key{"sum_block_runtime", SchedKey::SumBlockRuntime, Number::Dotted},
    Key{"block_max", SchedKey::BlockMax, Number::Dotted},
    Key{"iowait_sum", SchedKey::IowaitSum, Number::Dotted},
    Key{"iowait_count", SchedKey::IowaitCount, Number::Plain},
    Key{"exec_max", SchedKey::ExecMax, Number::Dotted},
    Key{"slice_max", SchedKey::SliceMax, Number::Dotted},
    Key{"core_forceidle_sum", SchedKey::CoreForceidleSum, Number::Dotted},
    Key{kExtEnabled, SchedKey::ExtEnabled, Number::Plain}};
static_assert(kKeys.size() == kSchedKeys);

// Keys by a hash without collisions, for sixty look-ups a thread. REQUIRES: at least kShortest
// letters.
constexpr std::size_t kSlots = 128;
constexpr std::size_t kShortest = 3;
constexpr std::size_t slot_of(std::string_view key) {
  const auto letter = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(key[at]));
  };
  return (key.size() + letter(0) + 11 * (letter(key.size() / 2) + letter(key.size() - kShortest))) %
         kSlots;
}

constexpr std::uint8_t kNoKey = 255;
constexpr std::array<std::uint8_t, kSlots> kSlotTable = [] {
  std::array<std::uint8_t, kSlots> table{};
  table.fill(kNoKey);
  for (std::size_t i = 0; i < kKeys.size(); ++i)
    table[slot_of(kKeys[i].text)] = static_cast<std::uint8_t>(i);
  return table;
}();
static_assert(
    [] {
      for (std::size_t i = 0; i < kKeys.size(); ++i)
        if (kSlotTable[slot_of(kKeys[i].text)] != i) return false;
      return true;
    }(),
    "two keys share a slot: change slot_of");

// The first word of a line: up to a blank or the colon, and where the part after its last dot
// begins. One loop, as this is done sixty times a thread.
struct Word {
  std::string_view all;
  std::string_view last_part;
};

Word first_word(std::string_view line) {
  std::size_t end = 0;
  std::size_t part = 0;
  for (; end < line.size() && line[end] != ' ' && line[end] != ':'; ++end)
    if (line[end] == '.') part = end + 1;
  return {line.substr(0, end), line.substr(part, end - part)};
}

// Null when it is none of ours.
const Key* find_key(const Word& word) {
  const std::string_view key = word.all == kExtEnabled ? word.all : word.last_part;
  if (key.size() < kShortest) return nullptr;
  const std::uint8_t at = kSlotTable[slot_of(key)];
  return at != kNoKey && kKeys[at].text == key ? &kKeys[at] : nullptr;
}

void parse_line(std::string_view line, Sched& sched) {
  const Word word = first_word(line);
  const Key* key = find_key(word);
  if (!key) return;
  line = bare(line.substr(word.all.size()));
  if (!line.starts_with(':')) return;  // no value, or a key of two words
  line = bare(line.substr(1));
  bool negative = false;
  sched[key->key] = key->number == Number::Plain ? u64(line) : dotted_ns(line, negative);
  if (negative) ++sched.negatives;
}

// Takes all up to the line of dashes off, and that line. The run is longer than any name, so that
// no name can pass for it.
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

// `text` as nanoseconds after a decimal point before milliseconds: cut or filled up to six digits.
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
        const auto missing = [](SchedKey key) {
          return needs_schedstats(key) ? Gap::SwitchedOff : Gap::Unsupported;
        };
        return decltype(readings_){missing(static_cast<SchedKey>(I))...};
      }(std::make_index_sequence<kSchedKeys>())) {}

sdk::Reading<std::uint64_t> dotted_ns(std::string_view text, bool& negative) {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const bool dotted = text.find('.') != text.npos;
  std::string_view whole = sdk::take(text, '.');
  std::string_view fraction = dotted ? text : "0";
  const bool minus_before = take_minus(whole);
  const bool minus_behind = take_minus(fraction);
  const auto ms = u64(whole);
  const auto ns = fraction_ns(fraction);
  if (!ms || !ns) return Gap::Malformed;
  negative = minus_before || minus_behind;
  if (negative) return std::uint64_t{0};
  if (!dotted) return ms.value;
  std::uint64_t total = 0;
  const bool overflows = __builtin_mul_overflow(ms.value, kNsPerMs, &total) ||
                         __builtin_add_overflow(total, ns.value, &total);
  return overflows ? sdk::Reading<std::uint64_t>(Gap::Malformed) : total;
}

Sched parse_sched(std::string_view text) {
  Sched sched;
  if (!skip_header(text)) {
    for (std::size_t i = 0; i < kSchedKeys; ++i) sched[static_cast<SchedKey>(i)] = Gap::Malformed;
    return sched;
  }
  while (!text.empty()) parse_line(sdk::take(text, '\n'), sched);
  return sched;
}

sdk::Reading<std::uint64_t> voluntary_sleep(const Sched& sched) {
  const auto& sleep = sched[SchedKey::SumSleepRuntime];
  const auto& block = sched[SchedKey::SumBlockRuntime];
  if (!sleep) return sleep.gap;
  if (!block) return block.gap;
  return sleep.value > block.value ? sleep.value - block.value : 0;
}

sdk::Reading<std::uint64_t> fair_slice(const Sched& sched) {
  const auto& policy = sched[SchedKey::Policy];
  if (policy && !has_fair_slice(policy.value)) return Gap::NotApplicable;
  return sched[SchedKey::Slice];
}

sdk::Reading<bool> ext_enabled(const Sched& sched) {
  const auto& enabled = sched[SchedKey::ExtEnabled];
  return enabled ? sdk::Reading<bool>(enabled.value != 0) : sdk::Reading<bool>(enabled.gap);
}

void SchedFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Sched sched = parse_sched(text);
  plain_.put(thread.row, sched);
  statistics_.put(thread.row, sched);
  computed_.put(thread.row, voluntary_sleep(sched), fair_slice(sched), ext_enabled(sched));
  negatives_ += sched.negatives;
}

void SchedFile::fail(std::uint32_t row, Gap gap) {
  plain_.fail(row, gap);
  statistics_.fail(row, gap);
  computed_.fail(row, gap);
}

void SchedFile::refuse(const sdk::Probe& probe, Gap gap, std::string_view reason,
                       const sdk::Remedy& remedy) {
  SchedPlain::refuse(probe, gap, reason, remedy);
  SchedStatistics::refuse(probe, gap, reason, remedy);
  SchedComputed::refuse(probe, gap, reason, remedy);
}

}  // namespace ctprof::procfs
