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
// A source that reads one such file is then short:
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
// Test a table with a text in which every value differs, and look for each by its metric's name.
// Two keys that changed places compile, where both are counts, and show at once in such a test:
//
//   const auto values = IoText::parse("rchar: 1\nwchar: 2\nsyscr: 3\n");
//   assert(values.of<kRchar>().value == 1 && values.of<kSyscr>().value == 3);
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
#include "ctprof/gap.hpp"
#include "ctprof/table.hpp"

namespace ctprof::sdk {

// The number that all of `text` is, as a figure of the newtype N; Malformed for anything else.
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
                "this newtype is no number: give the line a function that reads it");
  if constexpr (kName.ends_with("U32"))
    return Reading<std::uint64_t>(number<std::uint32_t>(text));
  else if constexpr (kName.ends_with("I32"))
    return Reading<std::int64_t>(number<std::int32_t>(text));
  else
    return number<typename Figure<N>::Value>(text);
}

// The text unchanged, for an aside. A function of your own that reads a value looks like this:
//
//   sdk::ReadingOf<sdk::GaugeBytes> kib(std::string_view text) {      // "12 kB"
//     if (!text.ends_with(" kB")) return Gap::Malformed;
//     const auto number = sdk::number<std::uint64_t>(text.substr(0, text.size() - 3));
//     if (!number) return number.gap;
//     return number.value * 1024;
//   }
inline Reading<std::string_view> as_text(std::string_view text) { return text; }

// A line whose value goes into a column. KeyLine and WordLine below are made of it.
template <const auto& kOf,
          auto kParse = figure<typename std::remove_cvref_t<decltype(kOf)>::Newtype>>
struct TextLine : Fields<kOf> {
  using Fields<kOf>::Fields;
  static constexpr const auto& kMetric = kOf;
  using MetricType = std::remove_cvref_t<decltype(kOf)>;
  using Value = ReadingOf<typename MetricType::Newtype>;

  // The value of the text behind the key, blanks taken off. A function of yours that gives a figure
  // of another newtype is refused here.
  static Value parse(std::string_view text) {
    const auto reading = kParse(text);
    static_assert(
        kFitsNewtype<typename MetricType::Newtype, std::remove_cvref_t<decltype(reading)>>,
        CTPROF_SAYS_OTHER_NEWTYPE);
    return reading;
  }
};

// A line whose value is kept, but fills no column by itself. It is in the table with the others,
// and takes no part in offering, failing and refusing.
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

// A line of the table, for the value behind a key, or the word with a number:
//
//   sdk::KeyLine<kThreads, "Threads">                      a column, read as its newtype says
//   sdk::KeyLine<kState, "State", first_letter>            a column, read by a function of yours
//   sdk::KeyAside<"VmLck">                                 an unsigned number that is only kept
//   sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>       a text that is only kept
//
// The same with numbers for words: sdk::WordLine<kFaults, 10>, sdk::WordAside<9>.
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

// What a text said, line by line of its table. You meet it where a figure depends on more than its
// own line:
//
//   auto status = StatusText::parse(text);
//   if (!is_leader(thread)) status.of<kThreads>() = Gap::NotApplicable;
//   columns.put(thread.row, status);
template <class... Lines>
class TextValues {
 public:
  // Every value is this gap until its line was met. So a line that is missing differs from one
  // that holds zero.
  explicit TextValues(Gap missing) : values_(typename Lines::Value(missing)...) {}

  // The value for a metric, behind a key, or of a word by its number. Each compiles only where the
  // table has that line.
  //
  // By metric: what is to be put. It may be replaced before it is.
  template <const auto& kMetric>
  auto& of() {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  template <const auto& kMetric>
  const auto& of() const {
    return at<position([]<class Line>() { return is_of<Line>(kMetric); })>();
  }
  // By key, of a KeyedText: `status.key<"Cpus_allowed_list">()`.
  template <Name kWanted>
  const auto& key() const {
    return at<position([]<class Line>() { return Line::kKey.view() == kWanted.view(); })>();
  }
  // By number, of a WordText: `stat.word<9>()`.
  template <std::size_t kWanted>
  const auto& word() const {
    return at<position([]<class Line>() { return Line::kAt == kWanted; })>();
  }

  // By place in the table; the others are made of it.
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
  // The first line that is meant; past the last where there is none, which std::get then refuses.
  template <class Is>
  static constexpr std::size_t position(Is is) {
    const std::array<bool, sizeof...(Lines)> found{is.template operator()<Lines>()...};
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i]) return i;
    return found.size();
  }

  std::tuple<typename Lines::Value...> values_;
};

// What both kinds of text share: the columns, and how values get there. A table is a Groups
// (fields.hpp): it is asked for, failed and refused as one, and has `kOffers`. What it adds is
// `parse`, which is static and needs no batch, so a parser can be tested by itself:
//
//   BOOST_TEST(IoText::parse("rchar: 1\n").of<kRchar>().value == 1u);
template <class... Lines>
class TextTable : public Groups<Lines...> {
 public:
  using Groups<Lines...>::Groups;
  using Values = TextValues<Lines...>;

  // Fills this row's cell of each column. Asides go nowhere.
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
//   using Status = sdk::KeyedText<':', sdk::KeyLine<kThreads, "Threads">,
//                                 sdk::KeyAside<"Cpus_allowed_list", sdk::as_text>>;
//
// A key is compared with all of the text before the mark, so "Threads" is not taken for
// "ThreadsX". Lines are compared with each key in turn: fine for some ten keys. A file of many keys
// that is read for every thread needs a table of its own, as plugins/procfs-sched/sched.cc has.
//
// Beware of names in a text. Where the kernel prints a thread's name as it is, a line end in it can
// forge a line; find the end of the name first.
template <char kMark, class... Keys>
class KeyedText : public TextTable<Keys...> {
 public:
  using TextTable<Keys...>::TextTable;
  using Values = typename TextTable<Keys...>::Values;

  // Goes through the text once; it may end without a line end, or be empty.
  //
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

  // Whether the line begins with all of the key, and the mark behind it.
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
//
//   // /proc/loadavg: 0.20 0.18 0.12 1/80 11206
//   using Load = sdk::WordText<1, sdk::WordLine<kLoad1, 1>, sdk::WordLine<kLoad15, 3>>;
//
// Numbers are those of the documentation, so that a line can be checked against it: in
// proc_pid_stat(5) the state is field 3, and a table of what follows the name begins with
// kFirst = 3.
template <std::size_t kFirst, class... Lines>
class WordText : public TextTable<Lines...> {
 public:
  using TextTable<Lines...>::TextTable;
  using Values = typename TextTable<Lines...>::Values;

  // Of one line; take it out of a longer text before. A text that is cut short has the words that
  // it has, and gaps for the others.
  static Values parse(std::string_view text) {
    Values values(Gap::Malformed);
    take_words(text, values, std::make_index_sequence<kLast - kFirst + 1>());
    return values;
  }

 private:
  // Words are taken one by one up to here, each compared with nothing: the compiler knows which
  // line wants which.
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
