// Text that is keys or words, straight into columns: one line of a table for each metric.
//
//   rchar: 3980                       using IoText = sdk::KeyedText<':',
//   wchar: 1207                           sdk::KeyLine<kRchar, "rchar">,
//   syscr: 22                             sdk::KeyLine<kSyscr, "syscr">>;
//
//   IoText columns(batch);
//   columns.put(row, IoText::parse(text));
//
//   467558028 5277968 418             using Schedstat = sdk::WordText<1,
//                                         sdk::WordLine<kRunTime, 1>,
//                                         sdk::WordLine<kTimeslices, 3>>;
//
// Most files of /proc, /sys and cgroups are one of the two. A metric that is added to such a file
// is one line of the table: nothing else names it.
//
// How a value is read follows from the metric's newtype: an unsigned or signed number of 64 or 32
// bits, or a decimal fraction. Whatever is out of that range, has a wrong sign, or has other
// letters behind it, is Malformed, and never zero. For another spelling give the line a function of
// your own: `sdk::KeyLine<kState, "State", first_letter>` with
// `sdk::ReadingOf<sdk::Char> first_letter(std::string_view text)`.
//
// Sometimes a text has a part that no column holds, and that others depend on: a KeyAside or
// WordAside is read and kept, and offers nothing.
//
// Values that are texts point into the text that was parsed.
//
// What is here:   KeyLine and WordLine, their asides, KeyedText and WordText.
// What is not:    reading the file (files.hpp), figures that are computed (table.hpp).

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ctprof/fields.hpp"
#include "ctprof/files.hpp"
#include "ctprof/reading.hpp"
#include "ctprof/table.hpp"

namespace ctprof::sdk {

// The number that all of `text` is, as a figure of the newtype N; Malformed for anything else.
template <class N>
ReadingOf<N> figure(std::string_view text) {
  constexpr std::string_view kName = N::kName.view();
  constexpr ctprof_storage kStorage = N::kInfo->storage;
  static_assert(kStorage == CTPROF_U64 || kStorage == CTPROF_I64 || kStorage == CTPROF_F64,
                "this newtype is no number: give the line a function that reads it");
  if constexpr (kName.ends_with("U32"))
    return Reading<std::uint64_t>(number<std::uint32_t>(text));
  else if constexpr (kName.ends_with("I32"))
    return Reading<std::int64_t>(number<std::int32_t>(text));
  else
    return number<typename Figure<N>::Value>(text);
}

// The text as it stands, for an aside.
inline Reading<std::string_view> as_text(std::string_view text) { return text; }

// A line whose value goes into a column.
template <const auto& kOf,
          auto kParse = figure<typename std::remove_cvref_t<decltype(kOf)>::Newtype>>
struct TextLine : Fields<kOf> {
  using Fields<kOf>::Fields;
  static constexpr const auto& kMetric = kOf;
  using MetricType = std::remove_cvref_t<decltype(kOf)>;
  using Value = ReadingOf<typename MetricType::Newtype>;

  static Value parse(std::string_view text) {
    const auto reading = kParse(text);
    static_assert(
        kFitsNewtype<typename MetricType::Newtype, std::remove_cvref_t<decltype(reading)>>,
        CTPROF_SAYS_OTHER_NEWTYPE);
    return reading;
  }
};

// A line whose value is kept, and goes into no column by itself.
template <auto kParse>
struct AsideLine {
  static constexpr Offers<0> kOffers{};
  using Value = decltype(kParse(std::string_view()));

  explicit AsideLine(const Batch&) {}
  explicit operator bool() const { return false; }
  static Value parse(std::string_view text) { return kParse(text); }
  void put(std::uint32_t, const Value&) {}
  void fail(std::uint32_t, Gap) {}
  static void refuse(const Probe&, Gap, std::string_view, const Remedy& = {}) {}
  static void lacks(const Probe&, std::string_view, const Remedy&) {}
};

// What stands behind a key, or is a word of that number.
template <const auto& kOf, Name kIs, auto... kParse>
struct KeyLine : TextLine<kOf, kParse...> {
  using TextLine<kOf, kParse...>::TextLine;
  static constexpr Name kKey = kIs;
};
template <Name kIs, auto kParse = number<std::uint64_t>>
struct KeyAside : AsideLine<kParse> {
  using AsideLine<kParse>::AsideLine;
  static constexpr Name kKey = kIs;
};
template <const auto& kOf, std::size_t kNumber, auto... kParse>
struct WordLine : TextLine<kOf, kParse...> {
  using TextLine<kOf, kParse...>::TextLine;
  static constexpr std::size_t kAt = kNumber;
};
template <std::size_t kNumber, auto kParse = number<std::uint64_t>>
struct WordAside : AsideLine<kParse> {
  using AsideLine<kParse>::AsideLine;
  static constexpr std::size_t kAt = kNumber;
};

// What a text said, line by line of its table.
template <class... Lines>
class TextValues {
 public:
  // Every value is this gap until its line was met.
  explicit TextValues(Gap missing) : values_(typename Lines::Value(missing)...) {}

  // The value for a metric, behind a key, or of a word by its number. Each compiles only where the
  // table has that line.
  template <const auto& kMetric>
  auto& of() {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  template <const auto& kMetric>
  const auto& of() const {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  template <Name kWanted>
  const auto& key() const {
    return at<position([]<class Line>() { return Line::kKey.view() == kWanted.view(); })>();
  }
  template <std::size_t kWanted>
  const auto& word() const {
    return at<position([]<class Line>() { return Line::kAt == kWanted; })>();
  }

  template <std::size_t kLine>
  auto& at() {
    return std::get<kLine>(values_);
  }
  template <std::size_t kLine>
  const auto& at() const {
    return std::get<kLine>(values_);
  }

 private:
  template <class Line, class M>
  static constexpr bool is_of(const M& metric) {
    if constexpr (requires { Line::kMetric; })
      return std::string_view(Line::kMetric.abi.name) == metric.abi.name;
    else
      return false;
  }
  template <class Is>
  static constexpr std::size_t position(Is is) {
    const std::array<bool, sizeof...(Lines)> found{is.template operator()<Lines>()...};
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i]) return i;
    return found.size();
  }

  std::tuple<typename Lines::Value...> values_;
};

// What both kinds of text share: the columns, and how values get there.
template <class... Lines>
class TextTable : public Groups<Lines...> {
 public:
  using Groups<Lines...>::Groups;
  using Values = TextValues<Lines...>;

  // Fills this row's cell of each column.
  void put(std::uint32_t row, const Values& values) {
    put(row, values, std::index_sequence_for<Lines...>());
  }

 private:
  template <std::size_t... kLine>
  void put(std::uint32_t row, const Values& values, std::index_sequence<kLine...>) {
    (this->template get<Lines>().put(row, values.template at<kLine>()), ...);
  }
};

// Lines `key: value`, or `key value` with a blank for kMark. Blanks and tabs around a value are
// dropped. Lines with other keys are passed over; of two lines with one key the last counts.
template <char kMark, class... Keys>
class KeyedText : public TextTable<Keys...> {
 public:
  using TextTable<Keys...>::TextTable;
  using Values = typename TextTable<Keys...>::Values;

  // `missing` is why a key that the text does not have has no value: Malformed where every kernel
  // prints it, Unsupported where some do.
  static Values parse(std::string_view text, Gap missing = Gap::Malformed) {
    Values values(missing);
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      if (!line.empty() && kBegins[static_cast<unsigned char>(line.front())])
        take_line(line, values, std::index_sequence_for<Keys...>());
    }
    return values;
  }

 private:
  // The letters that keys begin with: most lines of a long file are passed over by their first.
  static constexpr auto kBegins = [] {
    std::array<bool, 256> begins{};
    ((begins[static_cast<unsigned char>(Keys::kKey.text[0])] = true), ...);
    return begins;
  }();

  static bool has_key(std::string_view line, std::string_view key) {
    return line.size() > key.size() && line[key.size()] == kMark && line.starts_with(key);
  }
  template <std::size_t... kLine>
  static void take_line(std::string_view line, Values& values, std::index_sequence<kLine...>) {
    ((has_key(line, Keys::kKey.view()) &&
      (values.template at<kLine>() = Keys::parse(bare(line.substr(Keys::kKey.view().size() + 1))),
       true)) ||
     ...);
  }
};

// Words with one blank between; the first has the number kFirst. Words that are missing are
// Malformed, and words behind the last that the table wants are not looked at.
template <std::size_t kFirst, class... Lines>
class WordText : public TextTable<Lines...> {
 public:
  using TextTable<Lines...>::TextTable;
  using Values = typename TextTable<Lines...>::Values;

  static Values parse(std::string_view text) {
    Values values(Gap::Malformed);
    take_words(text, values, std::make_index_sequence<kLast - kFirst + 1>());
    return values;
  }

 private:
  static constexpr std::size_t kLast = std::max({Lines::kAt...});
  static_assert(std::min({Lines::kAt...}) >= kFirst, "a word before the first");

  template <std::size_t... kStep>
  static void take_words(std::string_view text, Values& values, std::index_sequence<kStep...>) {
    (take_word<kFirst + kStep>(text, values, std::index_sequence_for<Lines...>()), ...);
  }
  template <std::size_t kNumber, std::size_t... kLine>
  static void take_word(std::string_view& text, Values& values, std::index_sequence<kLine...>) {
    if (text.empty()) return;
    const std::string_view word = take(text, ' ');
    const auto keep = [&]<std::size_t kAt, class Line>() {
      if constexpr (Line::kAt == kNumber) values.template at<kAt>() = Line::parse(word);
    };
    (keep.template operator()<kLine, Lines>(), ...);
  }
};

}  // namespace ctprof::sdk
