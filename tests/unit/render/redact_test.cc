#include "core/redact/redact.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/keyed_hash.hpp"
#include "core/compare/grouping/key_families.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::redact_test {
namespace {

constexpr KeyedHash::Key kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

BOOST_AUTO_TEST_SUITE(redact_test)

// The first and last results of the reference's test vectors, for 0 and for 15 bytes 00 01 02 ...
BOOST_AUTO_TEST_CASE(computes_siphash) {
  const KeyedHash hash(kKey);
  std::string bytes;
  BOOST_TEST(hash(bytes) == 0x726fdb47dd0e0e31u);
  for (char c = 0; c < 15; ++c) bytes += c;
  BOOST_TEST(hash(bytes) == 0xa129ca6149be45e5u);
}

BOOST_AUTO_TEST_CASE(a_permutation_contains_each_number_once) {
  const KeyedHash hash(kKey);
  for (const std::uint64_t size : {1u, 2u, 10u, 100u, 256u, 1000u}) {
    std::set<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < size; ++i) numbers.insert(hash.permute(i, size));
    BOOST_TEST(numbers.size() == size);
    BOOST_TEST(*numbers.rbegin() == size - 1);
  }
}

const std::vector<std::string> kNames{"nginx",
                                      "nginx-worker-12",
                                      "nginx-worker-7",
                                      "nginx-worker-113",
                                      "NGINX",
                                      "worker7",
                                      "worker8",
                                      "7worker",
                                      "8worker",
                                      "c0ffee",
                                      "d3d",
                                      "1f",
                                      "2f",
                                      "kworker/0:1-events",
                                      "kworker/u8:3+flush",
                                      "pod0f8fad5b-d9cb-469f-a165-70867728950e.scope",
                                      "pod1f8fad5b-d9cb-469f-a165-70867728950e.scope",
                                      "0f8fad5b_d9cb_469f_a165_70867728950e",
                                      "größe7",
                                      "größe8",
                                      "gr\xc3",
                                      "x1y2",
                                      "x1y3",
                                      "1F",
                                      "2F",
                                      "a b",
                                      "a\nb",
                                      "(sd-pam)",
                                      "docker-4a5b6c7d8e9f00112233445566778899.scope",
                                      "",
                                      "/",
                                      "12",
                                      "13",
                                      "/user.slice/user-1000.slice/session-3.scope",
                                      "/user.slice/user-1001.slice/session-4.scope",
                                      "getty@tty1.service",
                                      "getty@tty2.service",
                                      "ip-10-0-1-23",
                                      "deadbeef1",
                                      "deadbeef2",
                                      "cafe"};

// Returns which names share a key, whatever the key is.
std::set<std::set<std::size_t>> groups_of_equal_keys(const std::vector<std::string>& keys) {
  std::map<std::string, std::set<std::size_t>> by_key;
  for (std::size_t i = 0; i < keys.size(); ++i) by_key[keys[i]].insert(i);
  std::set<std::set<std::size_t>> groups;
  for (const auto& [key, group] : by_key) groups.insert(group);
  return groups;
}

BOOST_AUTO_TEST_CASE(pseudonyms_keep_the_patterns_of_names) {
  for (std::uint64_t key = 1; key <= 200; ++key) {
    Pseudonyms pseudonyms({key, key * 7});
    std::vector<std::string> others;
    for (const std::string& name : kNames) others.push_back(pseudonyms.pseudonym_of(name));
    BOOST_REQUIRE((groups_of_equal_keys(others) == groups_of_equal_keys(kNames)));
    BOOST_REQUIRE((groups_of_equal_keys(name_patterns(others)) ==
                   groups_of_equal_keys(name_patterns(kNames))));
    BOOST_REQUIRE((groups_of_equal_keys(cgroup_keys(others, {})) ==
                   groups_of_equal_keys(cgroup_keys(kNames, {}))));
  }
}

BOOST_AUTO_TEST_CASE(pseudonyms_depend_only_on_name_and_key) {
  Pseudonyms one(kKey), same(kKey), other({3, 4});
  same.pseudonym_of("another name");
  BOOST_TEST(one.pseudonym_of("nginx-worker-12") == same.pseudonym_of("nginx-worker-12"));
  BOOST_TEST(one.pseudonym_of("nginx-worker-12") != other.pseudonym_of("nginx-worker-12"));
  BOOST_TEST(one.bytes_of("\x01\x02\x03\x04").size() == 4u);
  BOOST_TEST(one.uuid_of("69c10381-90ff-46aa-9fe7-ea8f005bea5a")[8] == '-');
}

BOOST_AUTO_TEST_CASE(pseudonyms_contain_no_original_word) {
  Pseudonyms pseudonyms(kKey);
  for (const std::string& name : kNames)
    for (const std::string word : {"nginx", "NGINX", "worker", "events", "coffee", "user", "getty"})
      BOOST_TEST(pseudonyms.pseudonym_of(name).find(word) == std::string::npos);
  BOOST_TEST(pseudonyms.pseudonym_of("/a.slice/b@7.service").ends_with("@7.service"));
}

BOOST_AUTO_TEST_CASE(replaces_texts_in_json_but_not_keys_and_numbers) {
  Pseudonyms pseudonyms(kKey);
  const std::string json = redact_json(
      R"({"arch":"x86_64","total":18446744073709551615,"kernel_release":"6.1.7-acme","x":{"limit":"-1","at":["10.0.0.1",1.5e3,null]},"kernel_cmdline":"root=/dev/sda"})",
      pseudonyms);
  BOOST_TEST(json.starts_with(
      R"({"arch":"x86_64","total":18446744073709551615,"kernel_release":"6.1.7-)"));
  BOOST_TEST(json.find(R"("limit":"-1")") != std::string::npos);
  BOOST_TEST(json.find("1.5e3,null") != std::string::npos);
  for (const char* word : {"acme", "10.0.0.1", "root", "sda"})
    BOOST_TEST(json.find(word) == std::string::npos);
  BOOST_TEST(redact_json("{broken", pseudonyms) == "null");
}

Module make_module(Module::Kind kind, const std::string& path) { return {kind, path, "id", 0, 0}; }

BOOST_AUTO_TEST_CASE(kernel_functions_keep_their_names_and_stacks_their_numbers) {
  Snapshot snapshot;
  StackTable& table = snapshot.pools->stacks.table;
  const std::uint32_t kernel = table.add_module(make_module(Module::Kind::Kernel, ""));
  const std::uint32_t file = table.add_module(make_module(Module::Kind::File, "/opt/secret/app"));
  const std::vector<std::pair<Frame, std::string>> frames{{{1, kernel}, "vfs_read"},
                                                          {{2, kernel}, "bpf_prog_6deef_secret"},
                                                          {{3, file}, "secret::run"},
                                                          {{4, file}, ""}};
  std::vector<Frame> leaf_first;
  for (const auto& [frame, name] : frames) leaf_first.push_back(frame);
  const std::uint32_t node = table.add_stack(leaf_first, WalkEnd::Root);
  for (const auto& [frame, name] : frames)
    if (!name.empty()) table.set_name(table.add_frame(frame), name);
  const auto before = table.get_stack_frames(node);

  Pseudonyms pseudonyms(kKey);
  redact(snapshot, {}, pseudonyms);
  BOOST_TEST(table.get_stack_frames(node) == before, boost::test_tools::per_element());
  BOOST_TEST(table.get_name(before[0]) == "vfs_read");
  BOOST_TEST(table.get_name(before[1]) == pseudonyms.word_of("bpf_prog_6deef_secret"));
  BOOST_TEST(table.get_name(before[2]) == pseudonyms.word_of("secret::run"));
  BOOST_TEST(table.get_name(before[3]) == "");
  BOOST_TEST(table.modules()[file].path == pseudonyms.pseudonym_of("/opt/secret/app"));
  BOOST_TEST(table.modules()[file].build_id != "id");
  BOOST_TEST(table.modules()[kernel].build_id != "id");
}

// Addresses reveal where the kernel is loaded in this boot, and where generated code is.
BOOST_AUTO_TEST_CASE(replaces_addresses_by_numbers) {
  Snapshot snapshot;
  StackTable& table = snapshot.pools->stacks.table;
  const std::uint32_t kernel = table.add_module(make_module(Module::Kind::Kernel, ""));
  const std::uint32_t generated = table.add_module(make_module(Module::Kind::Anonymous, ""));
  const std::uint32_t unknown = table.add_module(make_module(Module::Kind::Unknown, ""));
  const std::uint32_t file = table.add_module(make_module(Module::Kind::File, "/opt/app"));
  constexpr std::uint64_t kHigh = 0xffffffff81234567;
  const std::uint32_t named = table.add_frame({kHigh, kernel, false});
  table.set_name(named, "vfs_read");
  const std::uint32_t other = table.add_frame({kHigh + 1, kernel, false});
  const std::uint32_t guessed = table.add_frame({kHigh, kernel, true});
  const std::uint32_t made = table.add_frame({0x7f0000001234, generated, false});
  const std::uint32_t lost = table.add_frame({0x7f0000005678, unknown, false});
  const std::uint32_t rest = table.add_frame({Frame::kNoOffset, unknown, false});
  const std::uint32_t placed = table.add_frame({0x1234, file, false});
  const std::size_t frames = table.frames().size();

  Pseudonyms pseudonyms(kKey);
  redact(snapshot, {}, pseudonyms);
  BOOST_REQUIRE(table.frames().size() == frames);
  const auto offset = [&](std::uint32_t frame) { return table.frames()[frame].offset; };
  BOOST_TEST(offset(named) == 0u);
  BOOST_TEST(offset(other) == 1u);
  BOOST_TEST(offset(guessed) == 0u);
  BOOST_TEST(offset(made) == 0u);
  BOOST_TEST(offset(lost) == 0u);
  BOOST_TEST(offset(rest) == Frame::kNoOffset);
  BOOST_TEST(offset(placed) == pseudonyms.offset_of(0x1234));
  BOOST_TEST(table.get_name(named) == "vfs_read");
  BOOST_TEST(table.get_name(other) == "[kernel]");
  BOOST_TEST(table.get_name(made) == "[anonymous]");
  BOOST_TEST(table.get_name(lost) == "[unknown]");
  BOOST_TEST(table.get_name(placed) == "");
}

BOOST_AUTO_TEST_CASE(pseudonyms_of_offsets_are_different_and_unordered) {
  constexpr std::uint64_t kFileRange = std::uint64_t{1} << 32;
  const Pseudonyms one(kKey), same(kKey), other({3, 4});
  std::set<std::uint64_t> all;
  std::size_t ascending = 0, equal = 0;
  for (std::uint64_t offset = 0; offset < 1000; ++offset) {
    const std::uint64_t pseudonym = one.offset_of(offset);
    all.insert(pseudonym);
    BOOST_TEST(pseudonym < kFileRange);
    BOOST_TEST(pseudonym == same.offset_of(offset));
    ascending += pseudonym < one.offset_of(offset + 1);
    equal += pseudonym == other.offset_of(offset);
  }
  BOOST_TEST(all.size() == 1000u);
  BOOST_TEST(ascending > 400u);
  BOOST_TEST(ascending < 600u);
  BOOST_TEST(equal < 3u);
  for (const std::uint64_t offset :
       {kFileRange, kFileRange << 20, ~std::uint64_t{0}, ~std::uint64_t{0} - kFileRange}) {
    BOOST_TEST(one.offset_of(offset) >= kFileRange);
    BOOST_TEST(one.offset_of(offset) != offset);
  }
}

// Offsets and build ids of public files would reveal the functions, and link files of the same host
// that are redacted with different keys.
BOOST_AUTO_TEST_CASE(files_with_different_keys_have_no_offset_or_build_id_in_common) {
  const auto redacted = [](const KeyedHash::Key& key) {
    Snapshot snapshot;
    StackTable& table = snapshot.pools->stacks.table;
    for (const auto kind : {Module::Kind::File, Module::Kind::Vdso, Module::Kind::Kernel}) {
      Module module{kind, "[vdso]", "0123456789abcdef0123", 0, 0x400000};
      const std::uint32_t number = table.add_module(module);
      for (std::uint64_t offset = 0x1000; offset < 0x1010 && kind != Module::Kind::Kernel; ++offset)
        table.add_frame({offset, number, false});
    }
    Pseudonyms pseudonyms(key);
    redact(snapshot, {}, pseudonyms);
    return std::make_pair(table.modules(), table.frames());
  };
  const auto [modules, frames] = redacted(kKey);
  const auto [other_modules, other_frames] = redacted({3, 4});
  BOOST_TEST((redacted(kKey) == std::make_pair(modules, frames)));
  BOOST_REQUIRE(frames.size() == 33u);
  std::set<std::uint64_t> offsets;
  for (std::size_t frame = 1; frame < frames.size(); ++frame) offsets.insert(frames[frame].offset);
  for (std::size_t frame = 1; frame < frames.size(); ++frame)
    BOOST_TEST(!offsets.contains(other_frames[frame].offset));
  for (std::size_t module = 1; module < modules.size(); ++module) {
    BOOST_TEST(modules[module].build_id != other_modules[module].build_id);
    BOOST_TEST(modules[module].build_id.size() == 20u);
    BOOST_TEST(modules[module].build_id != "0123456789abcdef0123");
    if (modules[module].kind == Module::Kind::File)
      BOOST_TEST(modules[module].address_bias != other_modules[module].address_bias);
    else
      BOOST_TEST(modules[module].path == "[vdso]");
  }
}

BOOST_AUTO_TEST_CASE(sorts_cgroups_and_their_values_by_pseudonym) {
  Snapshot snapshot;
  Table& cgroups = snapshot.table(Entity::Cgroup);
  cgroups.rows = 20;
  Column& paths = cgroups.add(identity_metric(kCgroupPath), Gap::Untouched);
  Column& ids = cgroups.add(identity_metric(kCgroupId), Gap::Untouched);
  snapshot.window.emplace();
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(Entity::Cgroup)];
  std::map<std::string, std::uint64_t> id_of;
  Pseudonyms pseudonyms(kKey);
  for (std::size_t row = 0; row < cgroups.rows; ++row) {
    const std::string path = "/" + std::string(1, static_cast<char>('a' + row)) + ".slice";
    paths.ids()[row] = snapshot.pools->texts.intern(path);
    ids.u64()[row] = row;
    paths.gaps()[row] = ids.gaps()[row] = CTPROF_VALUE;
    opening.started.push_back(row % 2);
    id_of[pseudonyms.pseudonym_of(path)] = row;
  }
  redact(snapshot, {}, pseudonyms);
  std::string last;
  for (std::size_t row = 0; row < cgroups.rows; ++row) {
    const std::string path(snapshot.pools->texts[paths.ids()[row]]);
    BOOST_TEST(path > last);
    BOOST_TEST(ids.u64()[row] == id_of.at(path));
    BOOST_TEST(opening.started[row] == id_of.at(path) % 2);
    last = path;
  }
}

BOOST_AUTO_TEST_CASE(replaces_names_of_rows_that_only_the_opening_has) {
  Snapshot snapshot;
  snapshot.window.emplace().opening_only = std::make_shared<Snapshot>();
  Snapshot& opening_snapshot = *snapshot.window->opening_only;
  opening_snapshot.threads().rows = 1;
  Column& names = opening_snapshot.threads().add(identity_metric(kPcomm), Gap::None);
  names.ids()[0] = opening_snapshot.pools->texts.intern("secret");
  opening_snapshot.table(Entity::Cgroup).rows = 2;
  Column& paths =
      opening_snapshot.table(Entity::Cgroup).add(identity_metric(kCgroupPath), Gap::None);
  paths.ids()[0] = opening_snapshot.pools->texts.intern("/a.slice");
  paths.ids()[1] = opening_snapshot.pools->texts.intern("/b.slice");
  Pseudonyms pseudonyms(kKey);
  BOOST_TEST(redact(snapshot, {}, pseudonyms).names == 3u);
  BOOST_TEST(opening_snapshot.pools->texts[names.ids()[0]] == pseudonyms.pseudonym_of("secret"));
  const std::set<std::string> expected{pseudonyms.pseudonym_of("/a.slice"),
                                       pseudonyms.pseudonym_of("/b.slice")};
  BOOST_TEST(opening_snapshot.pools->texts[paths.ids()[0]] == *expected.begin());
  BOOST_TEST(opening_snapshot.pools->texts[paths.ids()[1]] == *expected.rbegin());
}

BOOST_AUTO_TEST_CASE(replaces_or_omits_unchecked_texts) {
  Snapshot snapshot;
  snapshot.meta.notes = {"reading /home/alice failed"};
  snapshot.meta.hostname = "alice-laptop";
  snapshot.meta.cgroup_root = "/docker/alice";
  snapshot.objects["thirdparty_summary"] = R"({"alice":1})";
  snapshot.objects[kHostContext] = R"({"owner":"alice"})";
  snapshot.extras->unknown_meta["later"] = R"("alice")";
  snapshot.meta.sources.emplace_back().failed = "reading /home/alice failed";
  Column& failed =
      hand_made::add_u64(snapshot, hand_made::metric("one", "MonotonicCount", "SumCount"), {});
  failed.provenance.gap = Gap::SourceFailed;
  failed.provenance.reason = "reading /home/alice failed";
  Pseudonyms pseudonyms(kKey);
  const RedactionCounts done = redact(snapshot, {}, pseudonyms);
  BOOST_TEST(done.removed_items == 3u);
  BOOST_TEST(snapshot.meta.notes.empty());
  BOOST_TEST(snapshot.meta.sources[0].failed == "it failed (redacted)");
  BOOST_TEST(failed.provenance.reason == "redacted");
  BOOST_TEST(snapshot.extras->unknown_meta.empty());
  BOOST_TEST(!snapshot.objects.contains("thirdparty_summary"));
  BOOST_TEST(snapshot.objects[kHostContext].find("alice") == std::string::npos);
  BOOST_TEST(*snapshot.meta.hostname == pseudonyms.pseudonym_of("alice-laptop"));
  BOOST_TEST(snapshot.meta.cgroup_root == pseudonyms.pseudonym_of("/docker/alice"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::redact_test
