// Tests tables and names on a terminal: alignment, fitting, and escaping of control characters.

#include <boost/test/unit_test.hpp>
#include <string>

#include "core/render/terminal_text.hpp"

namespace ctprof::table_test {
namespace {

std::string draw(const TextTable& table, TextLayout layout) {
  std::string out;
  table.append_to(out, layout);
  return out;
}

TextTable sample_table() {
  TextTable table({{"group", Align::Left, 5, false},
                   {"n", Align::Right, 0, true},
                   {"value", Align::Right, 0, false}});
  table.add_row({{"kworker/u8:3"}, {"12"}, {"1.234ms", Tint::More}});
  table.add_row({{"sh"}, {""}, {"7ns", Tint::Less}});
  return table;
}

BOOST_AUTO_TEST_SUITE(table_test)

BOOST_AUTO_TEST_CASE(aligns_columns) {
  BOOST_TEST(draw(sample_table(), {}) ==
             "group          n    value\n"
             "kworker/u8:3  12  1.234ms\n"
             "sh                    7ns\n");
}

BOOST_AUTO_TEST_CASE(shortens_names_then_drops_columns_and_keeps_values) {
  BOOST_TEST(draw(sample_table(), {20, false}) ==
             "group     n    value\n"
             "kwo…8:3  12  1.234ms\n"
             "sh               7ns\n");
  BOOST_TEST(draw(sample_table(), {16, false}) ==
             "group      value\n"
             "kwo…8:3  1.234ms\n"
             "sh           7ns\n");
  BOOST_TEST(draw(sample_table(), {3, false}) ==
             "group    value\n"
             "kw…:3  1.234ms\n"
             "sh         7ns\n");
}

BOOST_AUTO_TEST_CASE(prints_colour_only_on_request) {
  BOOST_TEST(draw(sample_table(), {}).find('\x1b') == std::string::npos);
  BOOST_TEST(draw(sample_table(), {0, true}).find("\x1b[33m1.234ms\x1b[0m") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(escapes_control_characters_in_names) {
  BOOST_TEST(make_printable("plain (name)") == "plain (name)");
  BOOST_TEST(make_printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  BOOST_TEST(make_printable("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m");
  BOOST_TEST(make_printable(std::string_view("nul\0!", 5)) == "nul\\x00!");
  BOOST_TEST(make_printable("\x7f") == "\\x7f");
  BOOST_TEST(make_printable("\xc2\x9b"
                            "31m") == "\\u009b31m");  // CSI as one code point
  BOOST_TEST(make_printable("a\xe2\x80\xae"
                            "b") == "a\\u202eb");  // right-to-left override
  BOOST_TEST(make_printable("a\xe2\x81\xa6"
                            "b") == "a\\u2066b");
  BOOST_TEST(make_printable("a\xe2\x80\x8b"
                            "b") == "a\\u200bb");
  BOOST_TEST(make_printable("a\xef\xbb\xbf"
                            "b") == "a\\ufeffb");
  BOOST_TEST(make_printable("\xf3\xa0\x80\x81") == "\\U000e0001");
  BOOST_TEST(make_printable("bad\xff\xc3") == "bad\\xff\\xc3");
  BOOST_TEST(make_printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  BOOST_TEST(make_printable("\xc0\xaf") == "\\xc0\\xaf");           // an overlong slash
  BOOST_TEST(make_printable("grün 漢字 😀") == "grün 漢字 😀");
  BOOST_TEST(make_printable("") == "");
}

BOOST_AUTO_TEST_CASE(computes_the_width_on_a_terminal) {
  BOOST_TEST(get_display_width("abc") == 3);
  BOOST_TEST(get_display_width("grün") == 4);
  BOOST_TEST(get_display_width("漢字") == 4);
  BOOST_TEST(get_display_width("😀") == 2);
  BOOST_TEST(get_display_width("e\xcc\x81") == 1);  // with a combining accent
  BOOST_TEST(get_display_width("→µ…") == 3);
  BOOST_TEST(get_display_width("⭐") == 2);
  BOOST_TEST(get_display_width("कु") == 1);             // a letter and a mark
  BOOST_TEST(get_display_width("\u1112\u1161") == 2);  // the parts of one Hangul syllable
}

BOOST_AUTO_TEST_CASE(shortens_long_text_in_the_middle) {
  BOOST_TEST(shorten("abcdefgh", 8) == "abcdefgh");
  BOOST_TEST(shorten("abcdefgh", 7) == "abc…fgh");
  BOOST_TEST(shorten("abcdefgh", 2) == "a…");
  BOOST_TEST(shorten("abcdefgh", 1) == "…");
  BOOST_TEST(shorten("abcdefgh", 0) == "");
  for (std::size_t width = 0; width < 9; ++width)
    BOOST_TEST(get_display_width(shorten("漢字漢字", width)) <= width);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::table_test
