#include "core/rules/histograms.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/rules/maps.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

constexpr std::uint32_t kBuckets = CTPROF_HISTOGRAM_BUCKETS;

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

std::uint64_t largest_value_of_bucket(std::size_t bucket) {
  const auto number = static_cast<std::uint32_t>(bucket);
  return number + 1 < kBuckets ? ctprof_histogram_smallest(number + 1) - 1
                               : ctprof_histogram_smallest(kBuckets - 1);
}

std::uint64_t count_histogram_values(std::span<const std::uint64_t> buckets) {
  std::uint64_t count = 0;
  for (const std::uint64_t in_bucket : buckets) count = saturating_sum(count, in_bucket);
  return count;
}

// Returns the largest value of the bucket that contains the value of this rank, counted from 1.
std::uint64_t value_of_rank(std::span<const std::uint64_t> buckets, std::uint64_t rank) {
  std::uint64_t count = 0;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    count = saturating_sum(count, buckets[bucket]);
    if (count >= rank) return largest_value_of_bucket(bucket);
  }
  return largest_value_of_bucket(kBuckets - 1);
}

struct HistogramState {
  std::uint64_t readings;  // 0: no histogram was added
  Buckets buckets;
};

const HistogramState& histogram_in(const void* state) {
  return *static_cast<const HistogramState*>(state);
}

void add_histograms(void* states, const ctprof_rows* rows) {
  for_each_reading<HistogramState, std::uint32_t>(
      states, *rows, [&](HistogramState& state, std::uint32_t id) {
        std::size_t count = 0;
        const std::uint64_t* buckets = rows->bits(rows->core, id, &count);
        ++state.readings;
        add_buckets(state.buckets, {buckets, count});
      });
}

void merge_histograms(void* into, const void* from) {
  auto& state = *static_cast<HistogramState*>(into);
  state.readings += histogram_in(from).readings;
  add_buckets(state.buckets, histogram_in(from).buckets);
}

ctprof_number histogram_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  if (!histogram_in(baseline).readings || !histogram_in(candidate).readings) return no_number();
  put(*out, histogram_in(baseline).buckets == histogram_in(candidate).buckets ? kSame : kDiffers);
  return no_number();
}

std::string_view unit_of_part(std::string_view part, std::string_view unit) {
  const std::string_view own_unit = find_key_kind(kHistogramKeys, part).unit;
  return own_unit.empty() ? unit : own_unit;
}

template <class Visit>
void for_each_part(const void* state, Visit visit) {
  if (!histogram_in(state).readings) return;
  for (const HistogramPart& part : histogram_parts(histogram_in(state).buckets))
    if (has_value(part.number)) visit(part);
}

void histogram_text(const void* state, const char* unit, const ctprof_sink* out) {
  if (!histogram_in(state).readings) return put(*out, "-");
  bool is_first = true;
  for_each_part(state, [&](const HistogramPart& part) {
    put(*out, is_first ? "" : "\n");
    is_first = false;
    put(*out, part.name);
    put(*out, " " + format_scaled(part.number, unit_of_part(part.name, unit)));
  });
}

void histogram_json(const void* state, const ctprof_sink* out) {
  if (!histogram_in(state).readings) return put(*out, "null");
  JsonWriter object(Escape::Unprintable);
  object.put('{');
  for_each_part(state,
                [&](const HistogramPart& part) { object.member(part.name, part.number.u64); });
  object.close('}');
  put(*out, object.view());
}

// Writes the smallest value and the count of each bucket that is not empty.
void histogram_extras(const void* state, const ctprof_sink* out) {
  JsonWriter list(Escape::Unprintable);
  list.put('[');
  const auto buckets = buckets_in(state);
  for (std::uint32_t bucket = 0; bucket < buckets.size(); ++bucket) {
    if (buckets[bucket] == 0) continue;
    list.put('[');
    list.number(ctprof_histogram_smallest(bucket));
    list.put(',');
    list.number(buckets[bucket]);
    list.raw("],");
  }
  list.close(']');
  put(*out, "\"buckets\":" + std::string(list.view()));
}

void put_histogram_parts(const void* state, const ctprof_parts* out) {
  for_each_part(state, [&](const HistogramPart& part) {
    out->put(out->core, text_of(part.name), part.number, text_of(unit_of_part(part.name, "")));
  });
}

constexpr ctprof_rule histogram_rule() {
  ctprof_rule rule =
      make_rule<HistogramState>("HistogramMerge", "HistogramNs,HistogramCount",
                                "adds up, bucket by bucket; percentiles are upper limits",
                                CTPROF_REDUCES_BY_KEY, add_histograms, merge_histograms);
  rule.delta = histogram_delta;
  rule.text = histogram_text;
  rule.json = histogram_json;
  rule.extras = histogram_extras;
  rule.parts = put_histogram_parts;
  return rule;
}

constexpr ctprof_rule kHistograms[] = {histogram_rule()};

}  // namespace

std::span<const ctprof_rule> histograms() { return kHistograms; }

bool is_histogram_rule(const ctprof_rule& rule) { return &rule == kHistograms; }

HistogramParts histogram_parts(std::span<const std::uint64_t> buckets) {
  const std::uint64_t count = count_histogram_values(buckets);
  // `one_in`: the part of the values that may be larger.
  const auto percentile = [&](std::uint64_t one_in) {
    return count == 0 ? no_number() : make_number(value_of_rank(buckets, count - count / one_in));
  };
  const auto largest = trim_buckets(buckets).size();
  return {{{"count", make_number(count)},
           {"max", count == 0 ? no_number() : make_number(largest_value_of_bucket(largest - 1))},
           {"p50", percentile(2)},
           {"p99", percentile(100)},
           {"p99.9", percentile(1000)}}};
}

void add_buckets(Buckets& buckets, std::span<const std::uint64_t> more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    std::uint64_t& bucket = buckets[std::min<std::size_t>(i, kBuckets - 1)];
    bucket = saturating_sum(bucket, more[i]);
  }
}

std::span<const std::uint64_t> trim_buckets(std::span<const std::uint64_t> buckets) {
  while (!buckets.empty() && buckets.back() == 0) buckets = buckets.first(buckets.size() - 1);
  return buckets;
}

std::span<const std::uint64_t> buckets_in(const void* state) { return histogram_in(state).buckets; }

}  // namespace ctprof::rules
