// Tests which notes of a snapshot are replaced by one line about missing rights.

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/render/denials_text.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::denials_text_test {
namespace {

using hand_made::add_u64;
using hand_made::metric;
using Notes = std::vector<std::string>;

const std::string kNeedsCapability = "the kernel gives taskstats only to CAP_NET_ADMIN";

// Adds a metric that no source could read, and its note.
void add_denied(Snapshot& snapshot, const std::string& name, const std::string& reason) {
  Column& column =
      add_u64(snapshot, metric(name, "Bytes", "SumBytes"), {std::nullopt}, Gap::Denied);
  column.provenance = {.plugin = {}, .source = {}, .gap = Gap::Denied, .reason = reason};
  snapshot.meta.notes.push_back("without " + name + ": " + reason);
}

// Adds a metric with a denied value in one row, and its note.
void add_denied_row(Snapshot& snapshot, const std::string& plugin, const std::string& note) {
  Column& column =
      add_u64(snapshot, metric("row", "Bytes", "SumBytes"), {std::nullopt}, Gap::Denied);
  column.provenance.plugin = plugin;
  snapshot.meta.notes.push_back(note);
}

Snapshot one_thread() { return hand_made::snapshot_of({{1, 1, "web", "web"}}); }

BOOST_AUTO_TEST_SUITE(denials_text_test)

BOOST_AUTO_TEST_CASE(replaces_notes_that_name_capabilities_by_one_line) {
  Snapshot snapshot = one_thread();
  add_denied(snapshot, "delay", kNeedsCapability);
  add_denied(snapshot, "heap", "heaps need ptrace: run ctprof as root");
  add_denied_row(snapshot, "procfs-sched",
                 "procfs-sched: 3 reads were denied; io needs the capability CAP_SYS_PTRACE");
  snapshot.meta.notes.push_back("exited threads are not recorded: " + kNeedsCapability);
  snapshot.meta.notes.push_back("there are too many cgroups");
  const DividedNotes notes = divide_notes(snapshot);
  BOOST_TEST(notes.summary ==
             "cannot read exited threads, 2 metrics and values of other users' processes: "
             "Permission denied");
  BOOST_TEST(notes.others == Notes({"there are too many cgroups"}));
}

BOOST_AUTO_TEST_CASE(keeps_notes_of_denials_that_capabilities_do_not_change) {
  Snapshot snapshot = one_thread();
  add_denied(snapshot, "heap",
             "kernel.yama.ptrace_scope is 3, which forbids ptrace(2) until the next boot");
  add_denied(snapshot, "stack",
             "the kernel is locked down (confidentiality): no BPF program may read its memory");
  add_denied_row(snapshot, "procfs-sched",
                 "procfs-sched: 3 reads were denied despite CAP_SYS_PTRACE and "
                 "CAP_DAC_READ_SEARCH (a security module or the kernel's policy)");
  const DividedNotes kept = divide_notes(snapshot);
  BOOST_TEST(kept.summary == "");
  BOOST_TEST(kept.others == snapshot.meta.notes);
  add_denied(snapshot, "delay", kNeedsCapability);
  const DividedNotes notes = divide_notes(snapshot);
  BOOST_TEST(notes.summary == "cannot read 1 metric: Permission denied");
  BOOST_TEST(notes.others == kept.others);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::denials_text_test
