#include "tools/ctprof/plugin/scaffold.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <utility>

#include "plugin_templates.hpp"
#include "tools/ctprof/plugin/own_templates.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"
#include "tools/ctprof/plugin/rust_scaffold.hpp"

namespace ctprof::cli {
namespace {

struct Language {
  std::string_view name, extension, meson, standard, cmake, source;
};
constexpr std::array kLanguages{
    Language{"c++", "cc", "cpp", "cpp_std=c++20", "CXX", kPluginCcIn},
    Language{"c", "c", "c", "c_std=gnu11", "C", kPluginCIn},
    Language{"rust", "rs", "", "", "", kPluginRsIn},
};
static_assert(std::ranges::equal(kLanguages, kPluginLanguages, {}, &Language::name));

// A kind of source, with a metric that every kernel has. The `cc` and `c` parts fill the templates.
struct Source {
  std::string_view name, base, stage, cc_entity, c_entity;
  std::string_view suffix, description, newtype, rule;
  std::string_view headline;                  // label, order and kind of value; empty: no headline
  std::string_view file, key, separator;      // location of the number
  std::string_view directory;                 // a member of ctprof_host
  std::string_view cc_probe, cc_loop;         // read the file: once, and for each row
  std::string_view c_probe, c_row, c_inputs;  // make its path: once, and for each row
  std::string_view expected, missing;
};

constexpr std::string_view kThreadLoop =
    R"(    for (const sdk::Thread thread : batch.threads()) {
      const auto text = file_.read(host_, thread, "status");
      text ? columns.put(thread.row, Text::parse(text.value))
           : columns.fail(thread.row, text.gap);
    }
)";
constexpr std::string_view kProcessLoop =
    R"(    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const std::string path = std::to_string(tgids.at(row).value) + "/status";
      const auto text = file_.read(host_.proc(), path.c_str());
      text ? columns.put(row, Text::parse(text.value)) : columns.fail(row, text.gap);
    }
)";
constexpr std::string_view kCgroupLoop =
    R"(    const auto paths = batch.input(sdk::kCgroupPath);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const std::string path = "." + std::string(paths.at(row).value) + "/cgroup.stat";
      const auto text = file_.read(host_.cgroup(), path.c_str());
      text ? columns.put(row, Text::parse(text.value)) : columns.fail(row, text.gap);
    }
)";
constexpr std::string_view kHostLoop =
    R"(    const auto text = file_.read(host_.proc(), "stat");
    text ? columns.put(0, Text::parse(text.value)) : columns.fail(0, text.gap);
)";
constexpr std::string_view kThreadRow =
    R"(    char path[96];
    snprintf(path, sizeof path, "%" PRIu64 "/task/%" PRIu64 "/status",
             ((const uint64_t*)batch->inputs[0].values)[row],
             ((const uint64_t*)batch->inputs[1].values)[row]);
)";
constexpr std::string_view kProcessRow =
    R"(    char path[96];
    snprintf(path, sizeof path, "%" PRIu64 "/status",
             ((const uint64_t*)batch->inputs[0].values)[row]);
)";
constexpr std::string_view kCgroupRow =
    R"(    char path[8192];
    const struct ctprof_text* cgroup = (const struct ctprof_text*)batch->inputs[0].values + row;
    snprintf(path, sizeof path, ".%.*s/cgroup.stat", (int)cgroup->size, cgroup->data);
)";
constexpr std::string_view kHostRow = "    const char path[] = \"stat\";\n";

constexpr std::array kSources{
    Source{.name = "thread",
           .base = "ThreadSource",
           .stage = "CTPROF_STAGE_THREAD",
           .cc_entity = "",
           .c_entity = "CTPROF_THREAD",
           .suffix = "switches",
           .description = "How often the thread blocked, or yielded its CPU",
           .newtype = "MonotonicCount",
           .rule = "SumCount",
           .headline = R"("blocks/s", .shown = CTPROF_SHOWN_RATE)",
           .file = "/proc/<tgid>/task/<tid>/status",
           .key = "voluntary_ctxt_switches",
           .separator = ":",
           .directory = "proc_fd",
           .cc_probe = R"(sdk::TextFile().read(host, host.sample(), "status"))",
           .cc_loop = kThreadLoop,
           .c_probe = R"("%" PRIu64 "/task/%" PRIu64 "/status", host->sample_tgid,
           host->sample_tid)",
           .c_row = kThreadRow,
           .c_inputs = R"("tgid", "tid")",
           .expected = R"({"7/7": 40, "7/8": 2})",
           .missing = "/status"},
    Source{.name = "process",
           .base = "ProcessSource",
           .stage = "CTPROF_STAGE_PROCESS",
           .cc_entity = ", sdk::Entity::Process",
           .c_entity = "CTPROF_PROCESS",
           .suffix = "threads",
           .description = "Threads of the process",
           .newtype = "GaugeCount",
           .rule = "SumGaugeCount",
           .headline = R"("tasks", .shown = CTPROF_SHOWN_LEVEL)",
           .file = "/proc/<tgid>/status",
           .key = "Threads",
           .separator = ":",
           .directory = "proc_fd",
           .cc_probe = R"(sdk::TextFile().read(host, host.sample(), "status"))",
           .cc_loop = kProcessLoop,
           .c_probe = R"("%" PRIu64 "/status", host->sample_tgid)",
           .c_row = kProcessRow,
           .c_inputs = R"("process.tgid")",
           .expected = R"({"7": 2})",
           .missing = "/status"},
    Source{.name = "cgroup",
           .base = "CgroupSource",
           .stage = "CTPROF_STAGE_CGROUP",
           .cc_entity = ", sdk::Entity::Cgroup",
           .c_entity = "CTPROF_CGROUP",
           .suffix = "descendants",
           .description = "Cgroups below the cgroup",
           .newtype = "GaugeCount",
           .rule = "MaxGaugeCount",
           .headline = "",
           .file = "cgroup.stat",
           .key = "nr_descendants",
           .separator = " ",
           .directory = "cgroup_fd",
           .cc_probe = R"(sdk::TextFile().read(host.cgroup(), "cgroup.stat"))",
           .cc_loop = kCgroupLoop,
           .c_probe = R"("cgroup.stat")",
           .c_row = kCgroupRow,
           .c_inputs = R"("cgroup.path")",
           .expected = R"({"/": 1, "/a.slice": 0})",
           .missing = "/cgroup.stat"},
    Source{.name = "host",
           .base = "HostSource",
           .stage = "CTPROF_STAGE_HOST",
           .cc_entity = ", sdk::Entity::Host",
           .c_entity = "CTPROF_HOST",
           .suffix = "running",
           .description = "Threads of the host that run or wait for a CPU",
           .newtype = "GaugeCount",
           .rule = "MaxGaugeCount",
           .headline = "",
           .file = "/proc/stat",
           .key = "procs_running",
           .separator = " ",
           .directory = "proc_fd",
           .cc_probe = R"(sdk::TextFile().read(host.proc(), "stat"))",
           .cc_loop = kHostLoop,
           .c_probe = R"("stat")",
           .c_row = kHostRow,
           .c_inputs = "",
           .expected = R"({"host": 3})",
           .missing = "proc/stat"},
};
static_assert(std::ranges::equal(kSources, kMetricSources, {}, &Source::name));

using ModuleWords = std::map<std::string, std::string, std::less<>>;

// Replaces each @word@ of the template by its value. Unknown words remain unchanged.
std::string fill_template(std::string_view template_text, const ModuleWords& words) {
  std::string text;
  while (!template_text.empty()) {
    const std::size_t begin = std::min(template_text.find('@'), template_text.size());
    const std::size_t end = template_text.find('@', begin + 1);
    text += template_text.substr(0, begin);
    if (end == template_text.npos) return text += template_text.substr(begin);
    const auto word = words.find(template_text.substr(begin + 1, end - begin - 1));
    text += word == words.end() ? "@" : word->second;
    template_text.remove_prefix(word == words.end() ? begin + 1 : end + 1);
  }
  return text;
}

std::string headline_of(const Source& source, bool is_c) {
  if (source.headline.empty()) return "";
  return std::string(is_c ? "static const struct ctprof_headline" : "constexpr ctprof_headline") +
         " kHeadline" + (is_c ? " = {" : "{") + "\n    .size = sizeof(" + (is_c ? "struct " : "") +
         "ctprof_headline), .label = " + std::string(source.headline) + "};\n";
}

// Returns the rows of a Python dictionary as an initializer of C++: {{"7", 2}} of {"7": 2}.
std::string cc_rows(std::string_view dictionary) {
  std::string text = "{";
  for (const char c : dictionary) {
    if (c == ':')
      text += ',';
    else if (c == ',')
      text += "}, {";
    else if (c != ' ' || text.back() != '{')
      text += c;
  }
  return text + "}";
}

// Words for the test in the process of the plugin, which only C++ has.
void add_unit_test_words(const Language& language, const Source& source, ModuleWords& words) {
  const bool has_test = language.name == "c++";
  const std::string test = "test_" + words["name"];
  words["cc_expected"] = cc_rows(source.expected);
  words["unit_test"] = !has_test ? ""
                                 : "test('tree as text', executable('" + test + "', '" + test +
                                       ".cc', dependencies: sdk, build_by_default: false))\n\n";
  words["unit_test_cmake"] =
      !has_test ? ""
                : "add_executable(" + test + " " + test + ".cc)\ntarget_link_libraries(" + test +
                      " PRIVATE ctprof::sdk)\nadd_test(NAME tree_as_text COMMAND " + test + ")\n";
  words["unit_test_readme"] =
      !has_test ? "" : "| `" + test + ".cc` | a test in one process, with a tree as text |\n";
}

// Words of the build files in which plugins with metrics and output plugins differ.
void add_install_words(bool is_output, ModuleWords& words) {
  const std::string directory(kOutputSubdirectory);
  words["install_subdir"] = is_output ? " / '" + directory + "'" : "";
  words["install_subdir_cmake"] = is_output ? "/" + directory : "";
}

ModuleWords template_words(std::string_view name, const Language& language, const Source& source) {
  const bool is_c = language.name == "c";
  ModuleWords words{
      {"name", std::string(name)},
      {"metric", std::string(name) + "_" + std::string(source.suffix)},
      {"headline", headline_of(source, is_c)},
      {"use_headline", source.headline.empty() ? "" : ",\n    .headline = &kHeadline"},
      {"reads", source.c_inputs.empty() ? ""
                                        : "static const char* const kReads[] = {" +
                                              std::string(source.c_inputs) + "};\n"},
      {"use_reads", source.c_inputs.empty() ? "" : "    .reads = CTPROF_ARRAY_OF(kReads),\n"},
      {"show_options", ""}};
  const auto add = [&](const char* word, std::string_view value) { words[word] = value; };
  add("what", source.description), add("newtype", source.newtype), add("rule", source.rule);
  add("file", source.file), add("key", source.key), add("separator", source.separator);
  add("entity", is_c ? source.c_entity : source.cc_entity);
  add("base", source.base), add("stage", source.stage), add("directory", source.directory);
  add("probe_read", source.cc_probe), add("loop", source.cc_loop);
  add("probe_path", source.c_probe), add("row_path", source.c_row);
  add("expected", source.expected);
  add("missing", source.missing);
  add("language", language.meson), add("standard", language.standard);
  add("extension", language.extension), add("cmake_language", language.cmake);
  add_unit_test_words(language, source, words);
  words.merge(make_rust_words(source.name));
  return words;
}

template <class Items>
auto* find_named(const Items& items, std::string_view name) {
  const auto found =
      std::ranges::find_if(items, [&](const auto& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

bool is_plugin_name(std::string_view name) {
  constexpr std::size_t kLongest = 32;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kLongest && is_letter(name.front()) &&
         std::ranges::all_of(name, is_allowed);
}

namespace {

using Template = std::pair<std::string, std::string_view>;

// Returns the templates of the files that plugins in C and C++ have, by path. `own`: null if the
// kind of source has no templates of its own.
std::vector<Template> list_templates(const std::string& name, const Language& language,
                                     const OwnTemplates* own) {
  const std::string_view source = !own ? language.source : language.name == "c" ? own->c : own->cc;
  return {{"test_" + name + ".py", own ? own->test : kTestPyIn},
          {name + "." + std::string(language.extension), source},
          {"meson.build", kMesonIn},
          {"CMakeLists.txt", kCmakeIn},
          {"README.md", own ? own->readme : kReadmeMdIn},
          {".github/workflows/build.yml", kBuildYmlIn}};
}

// Replaces the words that depend on the kind of source. There is no test in the process of such a
// plugin, because testing.hpp has only rows of threads, processes, cgroups and the host.
void add_own_words(const OwnTemplates& own, ModuleWords& words) {
  words["metric"] = words["name"] + "_" + std::string(own.suffix);
  words["what"] = own.description;
  words["file"] = own.file;
  words["show_options"] = fill_template(own.show_options, words);
  words["unit_test"] = words["unit_test_cmake"] = words["unit_test_readme"] = "";
}

std::vector<Template> list_rust_templates(const std::string& name, const Language& language) {
  return {{"test_" + name + ".py", kTestPyIn},
          {"src/lib.rs", language.source},
          {"Cargo.toml", kCargoIn},
          {"README.md", kReadmeRustMdIn},
          {".github/workflows/build.yml", kBuildRustYmlIn}};
}

}  // namespace

std::vector<ScaffoldFile> make_scaffold_files(std::string_view name, std::string_view language_name,
                                              std::string_view source_name) {
  const Language& language = *find_named(kLanguages, language_name);
  const bool is_rust = language.name == "rust";
  const OwnTemplates* own = find_own_templates(source_name);
  ModuleWords words = template_words(
      name, language, *find_named(kSources, own ? kMetricSources.front() : source_name));
  add_install_words(source_name == kOutputSource, words);
  if (own) add_own_words(*own, words);
  auto templates = is_rust ? list_rust_templates(std::string(name), language)
                           : list_templates(std::string(name), language, own);
  if (language.name == "c++" && !own)
    templates.emplace_back("test_" + std::string(name) + ".cc", kTestCcIn);
  std::vector<ScaffoldFile> written_files;
  for (const auto& [path, form] : templates)
    written_files.push_back({path, fill_template(form, words)});
  if (is_rust) std::ranges::move(make_crate_files(), back_inserter(written_files));
  return written_files;
}

}  // namespace ctprof::cli
