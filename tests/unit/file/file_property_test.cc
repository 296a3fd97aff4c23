// Tests that reading a written file gives an equal snapshot, for random snapshots: gaps in any
// cell, names that are not UTF-8, third-party columns, unlimited limits, processes without a
// leader, and unknown keys.

#include <boost/test/unit_test.hpp>

#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/support/random_host.hpp"

namespace ctprof::tests::file_property_test {
namespace {

constexpr int kSnapshots = 60;

std::string text_of(const Snapshot& snapshot, const Vocabulary& vocabulary) {
  StringSink sink;
  BOOST_REQUIRE(Document(snapshot, vocabulary).write(sink).has_value());
  return sink.text();
}

Snapshot load_text_or_throw(const std::string& text, const Vocabulary& vocabulary) {
  auto snapshot = load_text(text, "test", vocabulary);
  BOOST_REQUIRE_MESSAGE(snapshot.has_value(), snapshot.error().text);
  return std::move(*snapshot);
}

// Returns the vocabulary of a machine without plugins, which must suffice for our own files.
Vocabulary bare_vocabulary() {
  Vocabulary bare;
  bare.objects = shipped_vocabulary().objects;
  return bare;
}

BOOST_AUTO_TEST_SUITE(file_property_test)

BOOST_AUTO_TEST_CASE(reads_what_it_writes) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot made = RandomHost(static_cast<std::uint64_t>(seed)).make();
    const std::string text = text_of(made, shipped_vocabulary());
    const Snapshot again = load_text_or_throw(text, shipped_vocabulary());
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(difference(made, again) == "");
      BOOST_TEST(!again.is_foreign);
      BOOST_TEST((text_of(again, shipped_vocabulary()) == text),
                 "written again it is another text");
    }
  }
}

BOOST_AUTO_TEST_CASE(reads_own_files_without_plugins) {
  for (int seed = 0; seed < kSnapshots; ++seed) {
    const Snapshot made = RandomHost(static_cast<std::uint64_t>(seed)).make();
    const Snapshot again =
        load_text_or_throw(text_of(made, shipped_vocabulary()), bare_vocabulary());
    BOOST_TEST_CONTEXT("seed " << seed) { BOOST_TEST(difference(made, again) == ""); }
  }
}

BOOST_AUTO_TEST_CASE(keeps_meta_data) {
  const Snapshot made = RandomHost(7).make();
  const Snapshot again =
      load_text_or_throw(text_of(made, shipped_vocabulary()), shipped_vocabulary());
  BOOST_TEST(again.meta.start.wall_unix_ns == made.meta.start.wall_unix_ns);
  BOOST_TEST(again.meta.end.boottime_ns == made.meta.end.boottime_ns);
  BOOST_TEST((again.meta.hostname == made.meta.hostname));
  BOOST_TEST(again.meta.own_threads == made.meta.own_threads);
  BOOST_TEST(again.meta.sources.size() == 2u);
  BOOST_TEST(again.meta.sources[0].gaps.at("Denied") == 7u);
  BOOST_TEST(again.meta.sources[0].failed == "gave up");
  BOOST_TEST(again.meta.notes == made.meta.notes);
  BOOST_TEST(again.derived[0].expression == "a / b");
}

// A tool may sort the keys of a file; then the registry comes after cgroup_stats and before
// threads.
BOOST_AUTO_TEST_CASE(accepts_any_order_of_keys) {
  const Snapshot made = RandomHost(3).make();
  const std::string text = text_of(made, shipped_vocabulary());
  const std::size_t registry = text.find("\"registry\":"), gaps = text.find(",\"gaps\":", registry);
  const std::string moved = text.substr(0, registry) +
                            text.substr(gaps + 1, text.size() - gaps - 2) + "," +
                            text.substr(registry, gaps - registry) + "}";
  BOOST_TEST(difference(made, load_text_or_throw(moved, shipped_vocabulary())) == "");
  BOOST_TEST(difference(made, load_text_or_throw(moved, bare_vocabulary())) == "");
}

BOOST_AUTO_TEST_CASE(accepts_any_border_of_slices) {
  HostShape shape;
  shape.threads = 300;
  const Snapshot made = IdleHost(shape).make();
  std::string text = text_of(made, shipped_vocabulary());
  for (int pad = 0; pad < 200; ++pad) {  // shifts the border of two slices by up to 200 bytes
    text.insert(0, 1, ' ');
    BOOST_REQUIRE(difference(made, load_text_or_throw(text, shipped_vocabulary())) == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_property_test
