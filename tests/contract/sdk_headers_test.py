#!/usr/bin/python3
"""Checks the public headers: each compiles separately without warnings, their examples compile, and they have enough comments.

    sdk_headers_test.py INCLUDE_DIR

The test also checks the code in README.md next to INCLUDE_DIR.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path(sys.argv[1]).resolve()
HEADERS = sorted(INCLUDE.rglob("*.h*"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
MIN_COMMENT_SHARE = 0.4  # share of lines that contain only a comment
COMMENT_LINE = re.compile(r"\s*(//|/\*|\*)")
README = INCLUDE.parent / "README.md"
# The definitions of a plugin without any optional field.
PLUGIN_WITHOUT_OPTIONAL_FIELDS = """
#include "ctprof/plugin.hpp"
constexpr ctprof_headline kHeadline{.size = sizeof(ctprof_headline), .label = "x", .shown = CTPROF_SHOWN_RATE};
constexpr ctprof_metric kMetric{.size = sizeof(ctprof_metric), .name = "a_b", .newtype = "Bytes", .rule = "SumBytes"};
constexpr ctprof_derived kDerived{.size = sizeof(ctprof_derived), .name = "a_c", .expression = "a_b / 2"};
constexpr ctprof_finding kFinding{.size = sizeof(ctprof_finding), .at_least = 1, .weight = 1, .statement = "x"};
void add(void*, const ctprof_rows*);
void merge(void*, const void*);
ctprof_number number(const void*);
constexpr ctprof_rule kRule{.size = sizeof(ctprof_rule), .state_size = 8, .name = "a_x", .fallback = "SumBytes", .newtypes = "Bytes",
                            .add = add, .merge = merge, .number = number};
constexpr ctprof_option kOption{.size = sizeof(ctprof_option), .key = "depth"};
constexpr ctprof_offer kOffer{.metric = &kMetric};
std::int32_t open_worker(const ctprof_host*, void**, char*, std::size_t);
std::int32_t collect(void*, ctprof_batch*);
void close_worker(void*);
constexpr ctprof_source kSource{.size = sizeof(ctprof_source), .stage = CTPROF_STAGE_HOST, .name = "a", .offers = {&kOffer, 1, sizeof kOffer},
                                .open_worker = open_worker, .collect = collect, .close_worker = close_worker};
extern const ctprof_plugin kPlugin{.abi = CTPROF_ABI, .size = sizeof(ctprof_plugin), .name = "a", .version = "1",
                                   .sources = {&kSource, 1, sizeof kSource}};
constexpr ctprof::sdk::Extra kExtra{.derived = {&kDerived, 1, sizeof kDerived}};
constexpr auto kSum = kHeadline.size + kFinding.size + kRule.size + kOption.size + kExtra.flags;
static_assert(kSum > 0);
"""
# The plugin that the example in ctprof/testing.hpp tests.
HELLO_PLUGIN = """
#include "ctprof/plugin.hpp"
namespace {
namespace sdk = ctprof::sdk;
constexpr sdk::Metric<sdk::MonotonicCount, sdk::SumCount> kSwitches{{.name = "hello_switches", .description = "Switches."}};
using Text = sdk::KeyedText<':', sdk::KeyLine<kSwitches, "voluntary_ctxt_switches">>;
class Source : public sdk::ThreadSource {
 public:
  static constexpr auto kOffers = Text::kOffers;
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    if (!sdk::TextFile().read(host, host.sample(), "status")) Text::refuse(probe, ctprof::Gap::Unsupported, "cannot read status");
  }
  explicit Source(const sdk::Host& host) : host_(host) {}
  void collect(const sdk::Batch& batch) {
    Text columns(batch);
    for (const sdk::Thread thread : batch.threads()) {
      const auto text = file_.read(host_, thread, "status");
      text ? columns.put(thread.row, Text::parse(text.value)) : columns.fail(thread.row, text.gap);
    }
  }

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};
}  // namespace
CTPROF_PLUGIN("hello", "1.0", "Switches of threads.", Source)
"""
COMPILERS = {"c++": [name for name in ("g++", "clang++-14") if shutil.which(name)],
             "c": [name for name in ("gcc", "clang-14") if shutil.which(name)]}


def find_compile_errors(language, text, *options, compilers=None):
    """Compiles a source, and returns the errors of each compiler by its name; empty if it succeeds."""
    messages = {}
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / ("source.cc" if language == "c++" else "source.c")
        source.write_text(text)
        for compiler in COMPILERS[language] if compilers is None else compilers:
            finished = subprocess.run([compiler, *options, "-fsyntax-only", "-I", INCLUDE, source], capture_output=True, text=True)
            messages[compiler] = finished.stderr if finished.returncode else ""
    return messages


class Headers(unittest.TestCase):
    def assert_compiles(self, language, text, *options):
        for compiler, messages in find_compile_errors(language, text, *options).items():
            with self.subTest(compiler=compiler):
                self.assertEqual(messages, "")

    def test_each_compiles_alone_without_a_warning(self):
        """One compiler checks each header, because includes do not depend on it; each compiler checks all headers together, for its warnings."""
        for header in HEADERS:
            with self.subTest(header=header.name):
                messages = find_compile_errors("c++", f'#include "{header}"\n', "-std=c++20", *WARNINGS, compilers=COMPILERS["c++"][:1])
                self.assertEqual(set(messages.values()), {""})
        self.assert_compiles("c++", "".join(f'#include "{header}"\n' for header in HEADERS), "-std=c++20", *WARNINGS)

    def test_abi_compiles_as_c11(self):
        self.assert_compiles("c", '#include "ctprof/abi.h"\nint nothing;\n', "-std=c11", *WARNINGS)

    def test_older_standard_gives_one_message(self):
        for compiler, messages in find_compile_errors("c++", '#include "ctprof/plugin.hpp"\n', "-std=c++17").items():
            with self.subTest(compiler=compiler):
                self.assertIn("needs C++20", messages)
                self.assertEqual(len(re.findall(r"\berror:", messages)), 1, messages)

    def test_example_plugin_in_c_compiles(self):
        text = (INCLUDE / "ctprof/abi.h").read_text()
        example = text[text.index(" * A whole plugin"):text.index(" * How it may change")].split("\n", 1)[1]
        self.assert_compiles("c", '#include "ctprof/abi.h"\n' + re.sub(r"(?m)^ \*( {5})?", "", example), "-std=c11", "-Wall", "-Werror")

    def test_example_plugin_in_cpp_compiles(self):
        text = (INCLUDE / "ctprof/plugin.hpp").read_text()
        example = text[text.index('//   #include "ctprof/plugin.hpp"'):text.index("#pragma once")]
        self.assert_compiles("c++", re.sub(r"(?m)^//( {3})?", "", example), "-std=c++20", *WARNINGS)

    def test_optional_fields_cause_no_warning(self):
        self.assert_compiles("c++", PLUGIN_WITHOUT_OPTIONAL_FIELDS, "-std=c++20", *WARNINGS)

    def test_names_in_examples_exist(self):
        """Checks qualified names in comments of headers and in the README."""
        text = "\n".join(line for header in HEADERS for line in header.read_text().splitlines() if COMMENT_LINE.match(line)) + README.read_text()
        names = set(re.findall(r"\b(?:ctprof::)?sdk::(\w+)", text)) - {"testing"}  # a namespace
        outer = set(re.findall(r"\bctprof::(?!sdk\b)(\w+)", text))
        self.assertGreater(len(names), 50)
        used = [f"using ctprof::sdk::{name};\n" for name in sorted(names)] + [f"using ctprof::{name};\n" for name in sorted(outer)]
        headers = "".join(f'#include "{header}"\n' for header in HEADERS)
        self.assert_compiles("c++", headers + "namespace test {\n" + "".join(used) + "}\n", "-std=c++20")

    def test_example_of_a_test_compiles_and_passes(self):
        """Builds the example in ctprof/testing.hpp with the plugin that it tests, and runs it."""
        text = (INCLUDE / "ctprof/testing.hpp").read_text()
        example = re.sub(r"(?m)^//( {3})?", "", text[text.index('//   #include "hello.cc"'):text.index("// A capture needs no framework")])
        for compiler in COMPILERS["c++"]:
            with self.subTest(compiler=compiler), tempfile.TemporaryDirectory() as directory:
                place = pathlib.Path(directory)
                (place / "hello.cc").write_text(HELLO_PLUGIN)
                (place / "test.cc").write_text(example)
                build = [compiler, "-std=c++20", *WARNINGS, "-I", INCLUDE, "-o", place / "test", place / "test.cc"]
                finished = subprocess.run(build, capture_output=True, text=True)
                self.assertEqual(finished.stderr, "")
                finished = subprocess.run([place / "test"], capture_output=True, text=True)
                self.assertEqual((finished.returncode, finished.stderr), (0, "5 checks, 0 failures\n"))

    def test_definitions_in_examples_compile(self):
        """Compiles complete definitions of metrics and records in comments, each in a namespace of its own."""
        whole = re.compile(r"(?m)^((?:  )?//   (?:inline constexpr sdk::Metric|using Mean = |struct \w+ \{).*\n(?:(?:  )?//(?:   .*)?\n)*)")
        found = [re.sub(r"(?m)^(?:  )?//(?:   )?", "", one).split("\n\n")[0] for header in HEADERS for one in whole.findall(header.read_text())]
        self.assertGreater(len(found), 8)
        spaces = "".join(f"namespace n{i} {{\n{text}\n}}\n" for i, text in enumerate(found))
        self.assert_compiles("c++", '#include "ctprof/plugin.hpp"\nnamespace sdk = ctprof::sdk;\nusing ctprof::Gap;\n' + spaces, "-std=c++20")

    def test_headers_have_enough_comments(self):
        """Headers in a directory `detail` are implementation: only headers of the SDK include them."""
        lines = [line for header in HEADERS if header.parent.name != "detail" for line in header.read_text().splitlines()]
        prose = sum(bool(COMMENT_LINE.match(line)) for line in lines)
        self.assertGreaterEqual(prose / len(lines), MIN_COMMENT_SHARE, f"{prose} of {len(lines)} lines contain only a comment")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
