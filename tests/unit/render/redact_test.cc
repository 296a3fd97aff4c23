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
    std::set<std::uint64_t> met;
    for (std::uint64_t i = 0; i < size; ++i) met.insert(hash.permuted(i, size));
    BOOST_TEST(met.size() == size);
    BOOST_TEST(*met.rbegin() == size - 1);
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
std::set<std::set<std::size_t>> together(const std::vector<std::string>& keys) {
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
    for (const std::string& name : kNames) others.push_back(pseudonyms.of(name));
    BOOST_REQUIRE((together(others) == together(kNames)));
    BOOST_REQUIRE((together(name_patterns(others)) == together(name_patterns(kNames))));
    BOOST_REQUIRE((together(cgroup_keys(others, {})) == together(cgroup_keys(kNames, {}))));
  }
}

BOOST_AUTO_TEST_CASE(pseudonyms_depend_only_on_name_and_key) {
  Pseudonyms one(kKey), same(kKey), other({3, 4});
  same.of("met before");
  BOOST_TEST(one.of("nginx-worker-12") == same.of("nginx-worker-12"));
  BOOST_TEST(one.of("nginx-worker-12") != other.of("nginx-worker-12"));
  BOOST_TEST(one.of_bytes("\x01\x02\x03\x04").size() == 4u);
  BOOST_TEST(one.of_uuid("69c10381-90ff-46aa-9fe7-ea8f005bea5a")[8] == '-');
}

BOOST_AUTO_TEST_CASE(pseudonyms_contain_no_original_word) {
  Pseudonyms pseudonyms(kKey);
  for (const std::string& name : kNames)
    for (const std::string word : {"nginx", "NGINX", "worker", "events", "coffee", "user", "getty"})
      BOOST_TEST(pseudonyms.of(name).find(word) == std::string::npos);
  BOOST_TEST(pseudonyms.of("/a.slice/b@7.service").ends_with("@7.service"));
}

BOOST_AUTO_TEST_CASE(replaces_texts_in_json_but_not_keys_and_numbers) {
  Pseudonyms pseudonyms(kKey);
  const std::string json = redacted_json(
      R"({"arch":"x86_64","total":18446744073709551615,"kernel_release":"6.1.7-acme","x":{"limit":"-1","at":["10.0.0.1",1.5e3,null]},"kernel_cmdline":"root=/dev/sda"})",
      pseudonyms);
  BOOST_TEST(json.starts_with(
      R"({"arch":"x86_64","total":18446744073709551615,"kernel_release":"6.1.7-)"));
  BOOST_TEST(json.find(R"("limit":"-1")") != std::string::npos);
  BOOST_TEST(json.find("1.5e3,null") != std::string::npos);
  for (const char* word : {"acme", "10.0.0.1", "root", "sda"})
    BOOST_TEST(json.find(word) == std::string::npos);
  BOOST_TEST(redacted_json("{broken", pseudonyms) == "null");
}

Module module_of(Module::Kind kind, const std::string& path) { return {kind, path, "id", 0, 0}; }

BOOST_AUTO_TEST_CASE(kernel_functions_keep_their_names_and_stacks_their_numbers) {
  Snapshot snapshot;
  StackTable& table = snapshot.pools->stacks.table;
  const std::uint32_t kernel = table.add_module(module_of(Module::Kind::Kernel, ""));
  const std::uint32_t file = table.add_module(module_of(Module::Kind::File, "/opt/secret/app"));
  const std::vector<std::pair<Frame, std::string>> frames{{{1, kernel}, "vfs_read"},
                                                          {{2, kernel}, "bpf_prog_6deef_secret"},
                                                          {{3, file}, "secret::run"},
                                                          {{4, file}, ""}};
  std::vector<Frame> leaf_first;
  for (const auto& [frame, name] : frames) leaf_first.push_back(frame);
  const std::uint32_t node = table.add_stack(leaf_first, Ending::Root);
  for (const auto& [frame, name] : frames)
    if (!name.empty()) table.set_name(table.add_frame(frame), name);
  const auto before = table.stack(node);

  Pseudonyms pseudonyms(kKey);
  redact(snapshot, {}, pseudonyms);
  BOOST_TEST(table.stack(node) == before, boost::test_tools::per_element());
  BOOST_TEST(table.name(before[0]) == "vfs_read");
  BOOST_TEST(table.name(before[1]) == pseudonyms.of_whole("bpf_prog_6deef_secret"));
  BOOST_TEST(table.name(before[2]) == pseudonyms.of_whole("secret::run"));
  BOOST_TEST(table.name(before[3]) == "");
  BOOST_TEST(table.modules()[file].path == pseudonyms.of("/opt/secret/app"));
  BOOST_TEST(table.modules()[file].build_id != "id");
  BOOST_TEST(table.modules()[kernel].build_id == "id");
}

// Addresses reveal where the kernel is loaded in this boot, and where generated code is.
BOOST_AUTO_TEST_CASE(replaces_addresses_by_numbers) {
  Snapshot snapshot;
  StackTable& table = snapshot.pools->stacks.table;
  const std::uint32_t kernel = table.add_module(module_of(Module::Kind::Kernel, ""));
  const std::uint32_t generated = table.add_module(module_of(Module::Kind::Anonymous, ""));
  const std::uint32_t unknown = table.add_module(module_of(Module::Kind::Unknown, ""));
  const std::uint32_t file = table.add_module(module_of(Module::Kind::File, "/opt/app"));
  constexpr std::uint64_t kHigh = 0xffffffff81234567;
  const std::uint32_t named = table.add_frame({kHigh, kernel, false});
  table.set_name(named, "vfs_read");
  const std::uint32_t other = table.add_frame({kHigh + 1, kernel, false});
  const std::uint32_t guessed = table.add_frame({kHigh, kernel, true});
  const std::uint32_t made = table.add_frame({0x7f0000001234, generated, false});
  const std::uint32_t lost = table.add_frame({0x7f0000005678, unknown, false});
  const std::uint32_t rest = table.add_frame({Frame::kNowhere, unknown, false});
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
  BOOST_TEST(offset(rest) == Frame::kNowhere);
  BOOST_TEST(offset(placed) == 0x1234u);
  BOOST_TEST(table.name(named) == "vfs_read");
  BOOST_TEST(table.name(other) == "[kernel]");
  BOOST_TEST(table.name(made) == "[anonymous]");
  BOOST_TEST(table.name(lost) == "[unknown]");
  BOOST_TEST(table.name(placed) == "");
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
    opening.born.push_back(row % 2);
    id_of[pseudonyms.of(path)] = row;
  }
  redact(snapshot, {}, pseudonyms);
  std::string last;
  for (std::size_t row = 0; row < cgroups.rows; ++row) {
    const std::string path(snapshot.pools->texts[paths.ids()[row]]);
    BOOST_TEST(path > last);
    BOOST_TEST(ids.u64()[row] == id_of.at(path));
    BOOST_TEST(opening.born[row] == id_of.at(path) % 2);
    last = path;
  }
}

BOOST_AUTO_TEST_CASE(replaces_names_of_rows_that_only_the_opening_has) {
  Snapshot snapshot;
  snapshot.window.emplace().opening_only = std::make_shared<Snapshot>();
  Snapshot& then = *snapshot.window->opening_only;
  then.threads().rows = 1;
  Column& names = then.threads().add(identity_metric(kPcomm), Gap::None);
  names.ids()[0] = then.pools->texts.intern("secret");
  then.table(Entity::Cgroup).rows = 2;
  Column& paths = then.table(Entity::Cgroup).add(identity_metric(kCgroupPath), Gap::None);
  paths.ids()[0] = then.pools->texts.intern("/a.slice");
  paths.ids()[1] = then.pools->texts.intern("/b.slice");
  Pseudonyms pseudonyms(kKey);
  BOOST_TEST(redact(snapshot, {}, pseudonyms).names == 3u);
  BOOST_TEST(then.pools->texts[names.ids()[0]] == pseudonyms.of("secret"));
  const std::set<std::string> expected{pseudonyms.of("/a.slice"), pseudonyms.of("/b.slice")};
  BOOST_TEST(then.pools->texts[paths.ids()[0]] == *expected.begin());
  BOOST_TEST(then.pools->texts[paths.ids()[1]] == *expected.rbegin());
}

BOOST_AUTO_TEST_CASE(replaces_or_omits_unchecked_texts) {
  Snapshot snapshot;
  snapshot.meta.notes = {"reading /home/alice failed"};
  snapshot.meta.hostname = "alice-laptop";
  snapshot.meta.cgroup_root = "/docker/alice";
  snapshot.objects["thirdparty_summary"] = R"({"alice":1})";
  snapshot.objects[kHostContext] = R"({"owner":"alice"})";
  snapshot.unknown_meta["later"] = R"("alice")";
  Pseudonyms pseudonyms(kKey);
  const Redacted done = redact(snapshot, {}, pseudonyms);
  BOOST_TEST(done.left_out == 3u);
  BOOST_TEST(snapshot.meta.notes.empty());
  BOOST_TEST(snapshot.unknown_meta.empty());
  BOOST_TEST(!snapshot.objects.contains("thirdparty_summary"));
  BOOST_TEST(snapshot.objects[kHostContext].find("alice") == std::string::npos);
  BOOST_TEST(*snapshot.meta.hostname == pseudonyms.of("alice-laptop"));
  BOOST_TEST(snapshot.meta.cgroup_root == pseudonyms.of("/docker/alice"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::redact_test
