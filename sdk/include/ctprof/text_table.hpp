// Tables that parse a text of keys or words directly into columns, with one line for each metric.
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
// Most files of /proc, /sys and cgroups have one of these two forms. A new metric of such a file
// needs one line in the table and no other change.
//
// A source that reads one such file is short:
//
//   class Io : public sdk::ThreadSource {
//    public:
//     static constexpr auto kOffers = IoText::kOffers;
//     explicit Io(const sdk::Host& host) : host_(host) {}
//     void collect(const sdk::Batch& batch) {
//       IoText columns(batch);
//       for (const sdk::Thread thread : batch.threads()) {
//         const auto text = file_.read(host_, thread, "io");
//         text ? columns.put(thread.row, IoText::parse(text.value))
//              : columns.fail(thread.row, text.gap);
//       }
//     }
//     ...
//   };
//
// The newtype of the metric determines how a value is parsed: an unsigned or signed number of 64 or
// 32 bits, or a decimal fraction. A value that is out of range, has a wrong sign, or is followed by
// other characters is Malformed, and never zero. For another format, specify a function of your
// own: `sdk::KeyLine<kState, "State", first_letter>` with `sdk::ReadingOf<sdk::Char>
// first_letter(std::string_view text)`.
//
// If other values depend on a part of the text that belongs to no column, use a KeyAside or
// WordAside: it is parsed and kept, and offers nothing.
//
// Values that are texts are views into the parsed text.
//
// Test a table with a text whose values all differ, and check each by the name of its metric. Two
// counts with swapped keys compile, but fail such a test:
//
//   const auto values = IoText::parse("rchar: 1\nwchar: 2\nsyscr: 3\n");
//   assert(values.of<kRchar>().value == 1 && values.of<kSyscr>().value == 3);
//
// Contents:   KeyLine and WordLine, their asides, KeyedText and WordText.
// See also:   files.hpp for reading files, table.hpp for computed values.

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
#include "ctprof/gap.hpp"
#include "ctprof/table.hpp"

namespace ctprof::sdk {

// Parses a number that must fill all of `text`, as a figure of the newtype N; Malformed otherwise.
//   figure<sdk::MonotonicCount>("12")     12
//   figure<sdk::OrdinalI32>("-5")         -5
//   figure<sdk::GaugeF64>("0.42")         0.42
//   figure<sdk::MonotonicCount>("-5")     Malformed
//   figure<sdk::OrdinalU32>("4294967296") Malformed: beyond 32 bits
template <class N>
ReadingOf<N> figure(std::string_view text) {
  constexpr std::string_view kName = N::kName.view();
  constexpr ctprof_storage kStorage = N::kInfo->storage;
  static_assert(kStorage == CTPROF_U64 || kStorage == CTPROF_I64 || kStorage == CTPROF_F64,
                "this newtype is not a number: pass a function that reads it to the line");
  if constexpr (kName.ends_with("U32"))
    return Reading<std::uint64_t>(number<std::uint32_t>(text));
  else if constexpr (kName.ends_with("I32"))
    return Reading<std::int64_t>(number<std::int32_t>(text));
  else
    return number<typename Figure<N>::Value>(text);
}

// Returns the text unchanged, for an aside. An example of a parse function of your own:
//
//   sdk::ReadingOf<sdk::GaugeBytes> kib(std::string_view text) {      // "12 kB"
//     if (!text.ends_with(" kB")) return Gap::Malformed;
//     const auto number = sdk::number<std::uint64_t>(text.substr(0, text.size() - 3));
//     if (!number) return number.gap;
//     return number.value * 1024;
//   }
inline Reading<std::string_view> as_text(std::string_view text) { return text; }

// A line whose value is put into a column, the base of KeyLine and WordLine below.
template <const auto& kOf,
          auto kParse = figure<typename std::remove_cvref_t<decltype(kOf)>::Newtype>>
struct TextLine : Fields<kOf> {
  using Fields<kOf>::Fields;
  static constexpr const auto& kMetric = kOf;
  using MetricType = std::remove_cvref_t<decltype(kOf)>;
  using Value = ReadingOf<typename MetricType::Newtype>;

  // Parses the text after the key, without blanks around it. A parse function that returns a figure
  // of another newtype is rejected here.
  static Value parse(std::string_view text) {
    const auto reading = kParse(text);
    static_assert(
        kFitsNewtype<typename MetricType::Newtype, std::remove_cvref_t<decltype(reading)>>,
        CTPROF_SAYS_OTHER_NEWTYPE);
    return reading;
  }
};

// A line whose value is kept, but fills no column. It is part of the table, but offers, refuses and
// fails nothing.
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

// A line of the table, for the value after a key, or for the word with a number:
//
//   sdk::KeyLine<kThreads, "Threads">                  a column, parsed according to its newtype
//   sdk::KeyLine<kState, "State", first_letter>        a column, parsed by a function of the plugin
//   sdk::KeyAside<"VmLck">                             an unsigned number that is only kept
//   sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>   a text that is only kept
//
// The same with numbers of words: sdk::WordLine<kFaults, 10>, sdk::WordAside<9>.
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

// The parsed values of a text, one for each line of its table. Use it if a value depends on more
// than its own line:
//
//   auto status = StatusText::parse(text);
//   if (!is_leader(thread)) status.of<kThreads>() = Gap::NotApplicable;
//   columns.put(thread.row, status);
template <class... Lines>
class TextValues {
 public:
  // Every value is this gap until its line is found, so a missing line differs from one with the
  // value zero.
  explicit TextValues(Gap missing) : values_(typename Lines::Value(missing)...) {}

  // Return the value of a metric, of a key, or of a word by its number. Each compiles only if the
  // table has such a line.
  //
  // By metric; the value may be replaced before it is put.
  template <const auto& kMetric>
  auto& of() {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  template <const auto& kMetric>
  const auto& of() const {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  // By key, for a KeyedText: `status.key<"Cpus_allowed_list">()`.
  template <Name kWanted>
  const auto& key() const {
    return at<position([]<class Line>() { return Line::kKey.view() == kWanted.view(); })>();
  }
  // By number, for a WordText: `stat.word<9>()`.
  template <std::size_t kWanted>
  const auto& word() const {
    return at<position([]<class Line>() { return Line::kAt == kWanted; })>();
  }

  // By position in the table, used by the functions above.
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
  // Returns the first line that matches, or the number of lines if none does, which std::get then
  // rejects.
  template <class Is>
  static constexpr std::size_t position(Is is) {
    const std::array<bool, sizeof...(Lines)> found{is.template operator()<Lines>()...};
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i]) return i;
    return found.size();
  }

  std::tuple<typename Lines::Value...> values_;
};

// The common base of both kinds of tables: the columns, and the transfer of values to them. A table
// is a Groups (fields.hpp): it is requested, failed and refused as a whole, and has `kOffers`. The
// derived classes add `parse`, which is static and needs no batch, so a parser can be tested
// separately:
//
//   BOOST_TEST(IoText::parse("rchar: 1\n").of<kRchar>().value == 1u);
template <class... Lines>
class TextTable : public Groups<Lines...> {
 public:
  using Groups<Lines...>::Groups;
  using Values = TextValues<Lines...>;

  // Fills this row's cell of each column. Asides have no column.
  void put(std::uint32_t row, const Values& values) {
    put(row, values, std::index_sequence_for<Lines...>());
  }

 private:
  template <std::size_t... kLine>
  void put(std::uint32_t row, const Values& values, std::index_sequence<kLine...>) {
    (this->template get<Lines>().put(row, values.template at<kLine>()), ...);
  }
};

// Parses lines `key: value`, or `key value` with a blank as kMark. Blanks and tabs around a value
// are removed. Lines with other keys are ignored; if a key occurs twice, the last line counts.
//   using Status = sdk::KeyedText<':', sdk::KeyLine<kThreads, "Threads">,
//                                 sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>>;
//
// A key is compared with the entire text before the mark, so "Threads" does not match "ThreadsX".
// Each line is compared with each key in turn, which is fast enough for about ten keys. A file with
// many keys that is read for every thread needs a table of its own, as in
// plugins/procfs-sched/sched.cc.
//
// Beware of names in a text. If the kernel prints a thread's name without escaping, a newline in
// the name can forge a line: find the end of the name first.
template <char kMark, class... Keys>
class KeyedText : public TextTable<Keys...> {
 public:
  using TextTable<Keys...>::TextTable;
  using Values = typename TextTable<Keys...>::Values;

  // Parses the text in one pass; it may be empty or lack a newline at its end.
  //
  // `missing` is the gap for a key that the text does not contain: Malformed if every kernel prints
  // it, Unsupported if only some do.
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
  // The first characters of the keys: most lines of a long file are skipped after a look at their
  // first character.
  static constexpr auto kBegins = [] {
    std::array<bool, 256> begins{};
    ((begins[static_cast<unsigned char>(Keys::kKey.text[0])] = true), ...);
    return begins;
  }();

  // Whether the line begins with the complete key and the mark.
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

// Parses words that are separated by one blank; the first has the number kFirst. Missing words are
// Malformed, and words after the last one in the table are ignored.
//
//   // /proc/loadavg: 0.20 0.18 0.12 1/80 11206
//   using Load = sdk::WordText<1, sdk::WordLine<kLoad1, 1>, sdk::WordLine<kLoad15, 3>>;
//
// Use the numbers of the kernel documentation, so that a line can be checked against it: in
// proc_pid_stat(5) the state is field 3, so a table of the fields after the name has kFirst = 3.
template <std::size_t kFirst, class... Lines>
class WordText : public TextTable<Lines...> {
 public:
  using TextTable<Lines...>::TextTable;
  using Values = typename TextTable<Lines...>::Values;

  // Parses one line; extract it from a longer text before. If the text is cut short, the missing
  // words are gaps.
  static Values parse(std::string_view text) {
    Values values(Gap::Malformed);
    take_words(text, values, std::make_index_sequence<kLast - kFirst + 1>());
    return values;
  }

 private:
  // The number of the last word that the table uses. Words are taken one by one up to it; their
  // lines are selected at compile time.
  static constexpr std::size_t kLast = std::max({Lines::kAt...});
  static_assert(std::min({Lines::kAt...}) >= kFirst,
                "a line reads a word before the first word of the table");

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
