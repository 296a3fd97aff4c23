// The rule Affinity: the number of CPUs that the threads of a group may use, and the set of CPUs if
// it is equal for all threads.

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "core/base/cpu_ranges.hpp"
#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

// A set of CPUs, in words of 64 bits; valid as long as the snapshot.
using CpuSet = std::span<const std::uint64_t>;

struct Affinity {
  const std::uint64_t* words;  // of the common set
  std::uint32_t words_count;
  std::uint32_t min_cpus, max_cpus;  // numbers of CPUs
  bool has_reading, is_mixed;
};

std::uint32_t count_cpus(CpuSet set) {
  std::uint32_t cpus = 0;
  for (const std::uint64_t word : set) cpus += static_cast<std::uint32_t>(std::popcount(word));
  return cpus;
}

CpuSet common_set(const Affinity& affinity) { return {affinity.words, affinity.words_count}; }

bool same_set(CpuSet a, CpuSet b) {
  return a.data() == b.data() || std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void add_cpu_set(Affinity& affinity, CpuSet set) {
  if (affinity.has_reading && set.data() == affinity.words)
    return;  // interned: most threads share one set
  const std::uint32_t cpus = count_cpus(set);
  if (!affinity.has_reading) {
    affinity = {set.data(), static_cast<std::uint32_t>(set.size()), cpus, cpus, true, false};
    return;
  }
  affinity.is_mixed = affinity.is_mixed || !same_set(common_set(affinity), set);
  affinity.min_cpus = std::min(affinity.min_cpus, cpus);
  affinity.max_cpus = std::max(affinity.max_cpus, cpus);
}

const Affinity& affinity_in(const void* state) { return *static_cast<const Affinity*>(state); }

void add_affinity(void* states, const ctprof_rows* rows) {
  for_each_reading<Affinity, std::uint32_t>(
      states, *rows, [&](Affinity& affinity, std::uint32_t id) {
        std::size_t words = 0;
        const std::uint64_t* first = rows->bits(rows->core, id, &words);
        add_cpu_set(affinity, {first, words});
      });
}

void merge_affinity(void* into, const void* from) {
  auto& affinity = *static_cast<Affinity*>(into);
  const Affinity& other = affinity_in(from);
  if (!other.has_reading) return;
  add_cpu_set(affinity, common_set(other));
  affinity.is_mixed = affinity.is_mixed || other.is_mixed;
  affinity.min_cpus = std::min(affinity.min_cpus, other.min_cpus);
  affinity.max_cpus = std::max(affinity.max_cpus, other.max_cpus);
}

ctprof_number affinity_number(const void* state) {
  const Affinity& affinity = affinity_in(state);
  if (!affinity.has_reading) return no_number();
  if (affinity.min_cpus == affinity.max_cpus) return make_number(std::uint64_t{affinity.min_cpus});
  return make_number((static_cast<double>(affinity.min_cpus) + affinity.max_cpus) / 2);
}

bool is_same_affinity(const Affinity& a, const Affinity& b) {
  if (a.is_mixed != b.is_mixed || a.min_cpus != b.min_cpus || a.max_cpus != b.max_cpus)
    return false;
  return a.is_mixed || same_set(common_set(a), common_set(b));
}

// Equal numbers of CPUs do not mean equal sets, so the rule reports this in addition to a zero.
ctprof_number affinity_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const Affinity &a = affinity_in(baseline), &b = affinity_in(candidate);
  if (!a.has_reading || !b.has_reading) return no_number();
  const Difference between = difference(affinity_number(baseline), affinity_number(candidate));
  if (between.is_zero()) put(*out, is_same_affinity(a, b) ? kSame : kDiffers);
  return as_number(between);
}

void affinity_text(const void* state, const char*, const ctprof_sink* out) {
  const Affinity& affinity = affinity_in(state);
  if (!affinity.has_reading) return put(*out, "-");
  put(*out, std::to_string(affinity.min_cpus));
  if (affinity.min_cpus != affinity.max_cpus) put(*out, "-" + std::to_string(affinity.max_cpus));
  put(*out, affinity.max_cpus == 1 ? " cpu (" : " cpus (");
  put(*out, (affinity.is_mixed ? "mixed" : format_cpu_ranges(common_set(affinity))) + ")");
}

void affinity_json(const void* state, const ctprof_sink* out) {
  const Affinity& affinity = affinity_in(state);
  if (!affinity.has_reading) return put(*out, "null");
  put(*out, "{\"min\":" + std::to_string(affinity.min_cpus) +
                ",\"max\":" + std::to_string(affinity.max_cpus) + ",\"cpus\":");
  put(*out, affinity.is_mixed ? "null}" : "\"" + format_cpu_ranges(common_set(affinity)) + "\"}");
}

constexpr ctprof_rule kAffinity[] = {[] {
  ctprof_rule rule = make_rule<Affinity>("Affinity", "CpuSet",
                                         "number of CPUs, and the set if it is equal for all",
                                         CTPROF_REDUCES_TO_AFFINITY, add_affinity, merge_affinity);
  rule.number = affinity_number;
  rule.delta = affinity_delta;
  rule.text = affinity_text;
  rule.json = affinity_json;
  return rule;
}()};

}  // namespace

std::span<const ctprof_rule> affinity() { return kAffinity; }

}  // namespace ctprof::rules
