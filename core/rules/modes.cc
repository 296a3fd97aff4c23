// Rules for categories: the value of a group is its most frequent category, with the number of rows
// that have it: "SCHED_OTHER (9/10)".
//
// In nearly all groups all rows have the same category. So a state stores one category inline, and
// allocates memory only for a second one.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/rules/rule_set.hpp"

namespace ctprof::rules {
namespace {

// The number of rows by category. Categories are valid as long as the snapshot.
using Counts = std::map<std::string_view, std::uint64_t>;

struct CategoryTally {
  ctprof_text first_category;
  std::uint64_t first_rows;
  Counts* other_categories;
};

bool same_text(ctprof_text a, ctprof_text b) {
  return (a.data == b.data && a.size == b.size) || view(a) == view(b);
}

void count_category(CategoryTally& tally, ctprof_text category, std::uint64_t rows) {
  if (!tally.first_rows) tally.first_category = category;
  if (same_text(tally.first_category, category)) return void(tally.first_rows += rows);
  if (!tally.other_categories) tally.other_categories = new Counts;
  (*tally.other_categories)[view(category)] += rows;
}

const CategoryTally& tally_in(const void* state) {
  return *static_cast<const CategoryTally*>(state);
}

void add_category(void* states, const ctprof_rows* rows) {
  for_each_reading<CategoryTally, std::uint32_t>(
      states, *rows, [&](CategoryTally& tally, std::uint32_t id) {
        count_category(tally, rows->text(rows->core, id), 1);
      });
}

void merge_tally(void* into, const void* from) {
  const CategoryTally& other = tally_in(from);
  if (!other.first_rows) return;
  count_category(*static_cast<CategoryTally*>(into), other.first_category, other.first_rows);
  if (!other.other_categories) return;
  for (const auto& [category, rows] : *other.other_categories)
    count_category(*static_cast<CategoryTally*>(into), text_of(category), rows);
}

void destroy_tally(void* state) { delete tally_in(state).other_categories; }

// The most frequent category; of equally frequent ones, the first in sort order.
struct MostFrequent {
  std::string_view category;
  std::uint64_t rows = 0;
  std::uint64_t total = 0;
};

void add_candidate(MostFrequent& winner, std::string_view category, std::uint64_t rows) {
  winner.total += rows;
  const bool is_more_frequent =
      rows > winner.rows || (rows == winner.rows && category < winner.category);
  if (!is_more_frequent) return;
  winner.category = category;
  winner.rows = rows;
}

MostFrequent most_frequent_in(const CategoryTally& tally) {
  MostFrequent winner;
  add_candidate(winner, view(tally.first_category), tally.first_rows);
  if (!tally.other_categories) return winner;
  for (const auto& [category, rows] : *tally.other_categories)
    add_candidate(winner, category, rows);
  return winner;
}

// The numbers of false and true readings.
struct Flags {
  std::uint64_t false_count, true_count;
};

void add_flags(void* states, const ctprof_rows* rows) {
  for_each_reading<Flags, std::uint8_t>(states, *rows, [](Flags& flags, std::uint8_t set) {
    ++(set ? flags.true_count : flags.false_count);
  });
}

void merge_flags(void* into, const void* from) {
  const auto& other = *static_cast<const Flags*>(from);
  static_cast<Flags*>(into)->false_count += other.false_count;
  static_cast<Flags*>(into)->true_count += other.true_count;
}

MostFrequent most_frequent_in(const Flags& flags) {
  const bool yes = flags.true_count > flags.false_count;
  return {yes ? "true" : "false", std::max(flags.true_count, flags.false_count),
          flags.true_count + flags.false_count};
}

template <class State>
ctprof_number mode_delta(const void* baseline, const void* candidate, const ctprof_sink* out) {
  const MostFrequent a = most_frequent_in(*static_cast<const State*>(baseline)),
                     b = most_frequent_in(*static_cast<const State*>(candidate));
  if (a.total && b.total) put(*out, a.category == b.category ? kSame : kDiffers);
  return no_number();
}

template <class State>
void mode_text(const void* state, const char*, const ctprof_sink* out) {
  const MostFrequent winner = most_frequent_in(*static_cast<const State*>(state));
  if (!winner.total) return put(*out, "-");
  put(*out, winner.category);
  if (winner.rows != winner.total)
    put(*out, " (" + std::to_string(winner.rows) + "/" + std::to_string(winner.total) + ")");
}

template <class WriteCategory>
void put_json(const MostFrequent& winner, WriteCategory write_category, const ctprof_sink& out) {
  if (!winner.total) return put(out, "null");
  JsonWriter json(Escape::Unprintable);
  json.put('{');
  json.key("value");
  write_category(json);
  json.put(',');
  json.member("count", winner.rows);
  json.member("total", winner.total);
  json.close('}');
  put(out, json.view());
}

void tally_json(const void* state, const ctprof_sink* out) {
  const MostFrequent winner = most_frequent_in(tally_in(state));
  put_json(
      winner, [&](JsonWriter& json) { json.text(winner.category); }, *out);
}

void flags_json(const void* state, const ctprof_sink* out) {
  const MostFrequent winner = most_frequent_in(*static_cast<const Flags*>(state));
  put_json(
      winner, [&](JsonWriter& json) { json.raw(winner.category); }, *out);
}

constexpr ctprof_rule mode_rule(const char* name, const char* newtypes) {
  ctprof_rule rule = make_rule<CategoryTally>(name, newtypes, "the most frequent value",
                                              CTPROF_REDUCES_TO_MODE, add_category, merge_tally);
  rule.destroy = destroy_tally;
  rule.delta = mode_delta<CategoryTally>;
  rule.text = mode_text<CategoryTally>;
  rule.json = tally_json;
  return rule;
}

constexpr ctprof_rule bool_rule() {
  ctprof_rule rule = mode_rule("ModeBool", "Flag");
  rule.state_size = sizeof(Flags);
  rule.add = add_flags;
  rule.merge = merge_flags;
  rule.destroy = nullptr;
  rule.delta = mode_delta<Flags>;
  rule.text = mode_text<Flags>;
  rule.json = flags_json;
  return rule;
}

constexpr ctprof_rule kModes[] = {mode_rule("Mode", "CategoricalString"),
                                  mode_rule("ModeChar", "Char"), bool_rule()};

}  // namespace

std::span<const ctprof_rule> modes() { return kModes; }

}  // namespace ctprof::rules
