// Tests the labels of maps: the form of keys, which the SDK writes and the core reads, and the
// check of names.

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/map_labels.hpp"
#include "ctprof/labels.hpp"

namespace ctprof::tests::map_labels_test {
namespace {

constexpr std::string_view kTwo = "device,direction";

// A key and the values of its labels.
struct Key {
  std::string key, first, second;
};
const std::vector<Key> kKeys{{"sda,read", "sda", "read"},
                             {"a%2Cb,100%25", "a,b", "100%"},
                             {"%252C,", "%2C", ""},
                             {",", "", ""},
                             {"\xff=\n,[x]", "\xff=\n", "[x]"}};

ctprof_text text_of(std::string_view text) { return {text.data(), text.size()}; }

BOOST_AUTO_TEST_SUITE(map_labels_test)

BOOST_AUTO_TEST_CASE(keys_contain_any_two_texts) {
  for (const Key& one : kKeys) {
    const std::vector<std::string> values{one.first, one.second};
    BOOST_TEST(join_label_values(values) == one.key);
    BOOST_TEST(is_key_of_labels(kTwo, one.key));
    BOOST_TEST(label_values(kTwo, one.key) == values, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_c_function_reports_the_length_of_a_key_that_does_not_fit) {
  std::array<char, 8> out{};
  BOOST_TEST(ctprof_join_labels(text_of("a,b"), text_of("100%"), out.data(), 4) == 12u);
  BOOST_TEST(std::string(out.data()) == "a%2C");
  BOOST_TEST(ctprof_join_labels(text_of("sda"), text_of("read"), out.data(), out.size()) == 8u);
  BOOST_TEST(std::string(out.data(), out.size()) == "sda,read");
  BOOST_TEST(ctprof_join_labels(text_of(""), text_of(""), nullptr, 0) == 1u);
}

BOOST_AUTO_TEST_CASE(the_sdk_builds_maps_of_such_keys) {
  sdk::LabelledEntries entries;
  for (const int round : {1, 2}) {
    BOOST_TEST_CONTEXT("round " << round) {
      entries.clear();
      for (const Key& one : kKeys) entries.add(one.first, one.second, one.key.size());
      BOOST_TEST(entries.size() == kKeys.size());
      const sdk::Entries map = entries.entries();
      BOOST_REQUIRE(map.size() == kKeys.size());
      for (std::size_t i = 0; i < map.size(); ++i) {
        BOOST_TEST(std::string(map[i].key.data, map[i].key.size) == kKeys[i].key);
        BOOST_TEST(map[i].value == kKeys[i].key.size());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_malformed_key_is_the_value_of_the_first_label) {
  for (const std::string key : {"", "read", "a,b,c", "a%2cb,c", "50%,x", "x,50%", "a,%2", "%,"}) {
    BOOST_TEST(!is_key_of_labels(kTwo, key), key);
    BOOST_TEST(label_values(kTwo, key) == (std::vector<std::string>{key, ""}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_key_of_one_label_is_its_value) {
  for (const std::string key : {"", "read", "a,b%"}) {
    BOOST_TEST(is_key_of_labels("kind", key));
    BOOST_TEST(label_values("kind", key) == std::vector<std::string>{key},
               boost::test_tools::per_element());
    BOOST_TEST(is_key_of_labels("", key));
    BOOST_TEST(label_values("", key).empty());
    BOOST_TEST(format_labelled_key("", key) == key);
    BOOST_TEST(format_labelled_key("kind", key) == "kind=" + key);
  }
  BOOST_TEST(format_labelled_key(kTwo, "a%2Cb,read") == "device=a,b direction=read");
}

BOOST_AUTO_TEST_CASE(names_have_at_most_one_fault) {
  const std::string longest(32, 'a');
  for (const std::string& labels : {std::string("device"), std::string(kTwo), longest + ",b_2"})
    BOOST_TEST((find_label_fault(labels) == LabelFault::None), labels);
  for (const auto& [labels, fault] :
       std::vector<std::pair<std::string, LabelFault>>{{"", LabelFault::Name},
                                                       {",", LabelFault::Name},
                                                       {"device,", LabelFault::Name},
                                                       {"Device", LabelFault::Name},
                                                       {"device, direction", LabelFault::Name},
                                                       {"_a", LabelFault::Name},
                                                       {"2a", LabelFault::Name},
                                                       {longest + "a", LabelFault::Name},
                                                       {"device,le", LabelFault::Reserved},
                                                       {"key", LabelFault::Reserved},
                                                       {"a,a", LabelFault::Twice},
                                                       {"a,b,c", LabelFault::Count},
                                                       {"a,a,a", LabelFault::Count}}) {
    BOOST_TEST((find_label_fault(labels) == fault), labels);
    BOOST_TEST(!sentence(fault).empty());
  }
  static_assert(std::string_view(sdk::labels<"device", "direction">) == kTwo);
  static_assert(std::string_view(sdk::labels<"kind">) == "kind");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::map_labels_test
