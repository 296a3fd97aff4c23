// Labels of the keys of a map, such as device and direction.
//
//   inline constexpr sdk::Metric<sdk::BytesMap, sdk::MapSum, sdk::Entity::Host> kMoved{{
//       .name = "example_moved_bytes",
//       .description = "Bytes that each device moved.",
//       .labels = sdk::labels<"device", "direction">}};
//
//   sdk::LabelledEntries moved;                // in the worker, so that its memory is reused
//   moved.clear();
//   moved.add("sda", "read", 4096);
//   moved.add("sda", "write", 512);
//   batch.column(kMoved).put(0, moved.entries());
//
// The labels are visible in
//
//   reports        example_moved_bytes[device=sda direction=read]
//   Prometheus     {device="sda",direction="read"}
//   tables         the columns `label.device` and `label.direction` of the long form
//
// and ctprof adds up the numbers of each key over groups, as for any map. If a group already has a
// label of the same name in Prometheus, such as the identity column `device` of an entity, the
// label of the key has the prefix "key_".
//
// A metric has one or two labels. With one label, pass sdk::Entries, whose keys are the values of
// that label:
//
//   inline constexpr sdk::Metric<sdk::CountMap, sdk::MapSum> kErrors{{
//       .name = "example_errors",
//       .description = "Failed calls by error.",
//       .labels = sdk::labels<"error">}};
//
//   const ctprof_entry errors[] = {{{"EAGAIN", 6}, 12}, {{"EINTR", 5}, 7}};
//   batch.column(kErrors).put(row, sdk::Entries(errors));
//
// Labels are part of the definition in a file, so it is read without the plugin. Do not change them
// after a release: give the metric a new name. A metric that had no labels may get one, because its
// keys remain valid.
//
// Use labels if the values are known only at run time. Their number is limited: a cell keeps
// CTPROF_MAX_MAP_KEYS keys, and ctprof reports how many it dropped. So do not use ids of requests,
// times or addresses as values.
//
// Contents:   labels, LabelledEntries, and the check of names, which ctprof repeats when it loads a
//             plugin.
// See also:   abi/labels.h for the form of keys; metric.hpp; batch.hpp.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"
#include "ctprof/metric.hpp"

namespace ctprof {

// The faults of label names, each with the message that describes it.
#define CTPROF_SAYS_LABEL_COUNT "a metric has one or two labels"
#define CTPROF_SAYS_LABEL_NAME                                                            \
  "the name of a label is at most 32 lower case letters, digits and _, beginning with a " \
  "letter"
#define CTPROF_SAYS_LABEL_RESERVED \
  "key, le, quantile, job and instance are not names of labels: readers use them"
#define CTPROF_SAYS_LABEL_TWICE "the two labels of a metric have different names"

enum class LabelFault : std::uint8_t { None, Count, Name, Reserved, Twice };

// Returns the sentence that follows the names in a message; empty if there is no fault.
constexpr std::string_view sentence(LabelFault fault) {
  switch (fault) {
    case LabelFault::Count: return CTPROF_SAYS_LABEL_COUNT;
    case LabelFault::Name: return CTPROF_SAYS_LABEL_NAME;
    case LabelFault::Reserved: return CTPROF_SAYS_LABEL_RESERVED;
    case LabelFault::Twice: return CTPROF_SAYS_LABEL_TWICE;
    case LabelFault::None: break;
  }
  return {};
}

// Finds the fault of a single name. Reserved are the labels that Prometheus adds or interprets, and
// `key`, which the keys of maps without labels have.
constexpr LabelFault find_label_name_fault(std::string_view name) {
  constexpr std::size_t kMaxBytes = 32;
  constexpr std::array<std::string_view, 5> kReserved{"key", "le", "quantile", "job", "instance"};
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name.size() > kMaxBytes || !is_letter(name[0]) ||
      !std::all_of(name.begin(), name.end(), is_allowed))
    return LabelFault::Name;
  return std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end()
             ? LabelFault::None
             : LabelFault::Reserved;
}

// Finds the first fault of the names in ctprof_metric::labels, which are separated by commas.
constexpr LabelFault find_label_fault(std::string_view labels) {
  std::array<std::string_view, CTPROF_MAX_LABELS> names{};
  for (std::size_t count = 0;; ++count) {
    if (count == names.size()) return LabelFault::Count;
    const std::size_t end = labels.find(',');
    names[count] = labels.substr(0, end);
    if (const LabelFault fault = find_label_name_fault(names[count]); fault != LabelFault::None)
      return fault;
    if (end == labels.npos) break;
    labels.remove_prefix(end + 1);
  }
  return names[0] == names[1] ? LabelFault::Twice : LabelFault::None;
}

// Returns whether a key has the form of two parts (abi/labels.h).
constexpr bool is_label_pair(std::string_view key) {
  std::size_t separators = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    separators += key[i] == ',';
    if (key[i] == '%' && key.substr(i, 3) != "%2C" && key.substr(i, 3) != "%25") return false;
  }
  return separators == 1;
}

}  // namespace ctprof

namespace ctprof::sdk {

namespace detail {

// The names as one constant text.
template <Name... Names>
struct LabelText {
  static constexpr std::size_t kSize = (0 + ... + sizeof(Names.text));
  static constexpr std::array<char, kSize + 1> kText = [] {
    std::array<char, kSize + 1> text{};
    std::size_t size = 0;
    const auto append = [&](std::string_view name) {
      if (size > 0) text[size++] = ',';
      for (const char c : name) text[size++] = c;
    };
    (append(Names.view()), ...);
    return text;
  }();
};

// Compiles only for valid names; otherwise the compiler prints the message of the fault. Converts
// to the names as one text.
template <Name... Names>
struct CheckedLabels {
  static constexpr LabelFault kFault = find_label_fault(LabelText<Names...>::kText.data());
  static_assert(kFault != LabelFault::Count, CTPROF_SAYS_LABEL_COUNT);
  static_assert(kFault != LabelFault::Name, CTPROF_SAYS_LABEL_NAME);
  static_assert(kFault != LabelFault::Reserved, CTPROF_SAYS_LABEL_RESERVED);
  static_assert(kFault != LabelFault::Twice, CTPROF_SAYS_LABEL_TWICE);
  constexpr operator const char*() const { return LabelText<Names...>::kText.data(); }
};

}  // namespace detail

// The names of the labels, for About::labels: `sdk::labels<"device", "direction">`.
template <Name... Names>
inline constexpr detail::CheckedLabels<Names...> labels{};

// The map of a metric with two labels. The values of labels may be any texts, and are copied. A
// comma or a percent sign in a value is written as abi/labels.h describes, so different pairs are
// different keys.
//
// Keep one object in each worker, and clear it for each cell: it then allocates no memory once it
// is large enough. Only for one thread.
class LabelledEntries {
 public:
  // Removes all entries, and keeps the memory.
  void clear() {
    keys_.clear();
    items_.clear();
  }

  // Adds the number of one pair of values. REQUIRES: the pair was not added since clear().
  void add(std::string_view first, std::string_view second, std::uint64_t number) {
    const std::size_t begin = keys_.size();
    keys_.resize(begin + 3 * (first.size() + second.size()) + 1);
    const std::size_t size =
        ctprof_join_labels({first.data(), first.size()}, {second.data(), second.size()},
                           keys_.data() + begin, keys_.size() - begin);
    keys_.resize(begin + size);
    items_.push_back({begin, size, number});
  }

  std::size_t size() const { return items_.size(); }

  // Returns the map, which is valid until the next call of a function that is not const.
  Entries entries() {
    entries_.clear();
    for (const Item& item : items_)
      entries_.push_back({{keys_.data() + item.begin, item.size}, item.number});
    return entries_;
  }

 private:
  // A key within keys_, whose memory moves when it grows.
  struct Item {
    std::size_t begin, size;
    std::uint64_t number;
  };

  std::string keys_;
  std::vector<Item> items_;
  std::vector<ctprof_entry> entries_;
};

}  // namespace ctprof::sdk
