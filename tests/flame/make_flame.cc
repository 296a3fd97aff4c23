// Draws and exports synthetic stacks for the readers of other projects.
//
//   make_flame STACKS FORM > FILE
//
// Standard error gets the CPU time of drawing in milliseconds, without building the stacks. The
// tables below list the accepted words; FORM may also be a format of stack_forms.hpp.

#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string_view>

#include "core/flame/flame_page.hpp"
#include "core/flame/stack_forms.hpp"
#include "tests/flame/made_stacks.hpp"

namespace ctprof::tests {
namespace {

using Made = std::unique_ptr<MadeStacks>;

// A few frames of every kind, with simple sums.
Made few() {
  auto made = std::make_unique<MadeStacks>(kTwoValues);
  const std::uint32_t app = made->module("/usr/bin/worker"), libc = made->module("/lib/libc.so.6");
  const std::uint32_t kernel = made->kernel(), jit = made->jit(70);
  const auto in = [&](std::uint32_t module, const char* name) { return made->frame(module, name); };
  const Frame start = in(app, "_start"), main = in(app, "main"), parse = in(app, "parse(char*)");
  made->owner({"worker", "io 1", "/a.slice", 70, 71});
  made->add({start, main, parse}, {300'000'000, 3});
  made->add({start, main, parse, parse, in(libc, "memcpy")}, {150'000'000, 2});
  made->add({start, main, in(libc, "read"), in(kernel, "entry_SYSCALL_64"), in(kernel, "vfs_read")},
            {250'000'000, 0});
  made->add({start, main, in(jit, "LazyCompile:~render app.js:3")}, {100'000'000, 1});
  made->owner({"worker", "", "/a.slice", 70, 70});
  made->add({made->frame(app, "poll", true)}, {50'000'000, 0});
  made->add({in(libc, "clone")}, {30'000'000, 0}, Ending::Cut);
  made->add({made->frame(libc, "")}, {20'000'000, 0});
  made->owner({"kworker/0:1", "", "", 9, 9});
  made->add({in(kernel, "kthread"), in(kernel, "worker_thread")}, {100'000'000, 0});
  return made;
}

// The same stacks at a later time: parse takes twice the time, read is missing.
Made slower() {
  auto made = std::make_unique<MadeStacks>(kTwoValues);
  const std::uint32_t app = made->module("/usr/bin/worker"), libc = made->module("/lib/libc.so.6");
  const std::uint32_t kernel = made->kernel();
  const auto in = [&](std::uint32_t module, const char* name) { return made->frame(module, name); };
  const Frame start = in(app, "_start"), main = in(app, "main"), parse = in(app, "parse(char*)");
  made->owner({"worker", "io 1", "/a.slice", 80, 81});
  made->add({start, main, parse}, {600'000'000, 3});
  made->add({start, main, parse, parse, in(libc, "memcpy")}, {100'000'000, 2});
  made->add({start, main, in(app, "report")}, {60'000'000, 1});
  made->owner({"kworker/0:1", "", "", 9, 9});
  made->add({in(kernel, "kthread"), in(kernel, "worker_thread")}, {105'000'000, 0});
  return made;
}

// Names that users chose to attack readers.
Made hostile() {
  auto made = std::make_unique<MadeStacks>(kTwoValues);
  const std::string bidi = "a\u202egnp.exe\u2066", marks = "zal\u0301\u0302\u0303\u0304go";
  const std::vector<std::string> names{"<script>alert(1)</script>",
                                       "</title></svg><img src=x onerror=alert(2)>",
                                       "\"' onload='alert(3)' x=\"",
                                       "]]><script>alert(4)</script>",
                                       "&lt;b&gt;&#60;i&#62;",
                                       bidi,
                                       marks,
                                       "back\\slash",
                                       "a;b c;d 12\n34 56",
                                       std::string("nul\0nul", 7),
                                       "\xff\xfe broken \xc3",
                                       "\x1b[31mred\x07",
                                       "\uffff\ufffe",
                                       std::string(4096, 'W'),
                                       std::string(4096, '<'),
                                       "-->",
                                       "javascript:alert(5)",
                                       "_[k]",
                                       " ",
                                       "{\"x\":1}"};
  for (const std::string& name : names) {
    const std::uint32_t module = made->module("/tmp/" + name);
    made->owner({name, name, "/" + name, 1, 1});
    made->add({made->frame(module, name), made->frame(module, name + "2")}, {1'000'000, 1});
  }
  return made;
}

// Distinct stacks of all depths, with the number of frames of a busy host.
Made many() {
  constexpr std::size_t kStacks = 100'000;
  auto made = std::make_unique<MadeStacks>(kOnCpu);
  std::mt19937_64 random(7);
  std::vector<Frame> frames;
  for (int module = 0; module < 50; ++module) {
    const std::uint32_t number = made->module("/usr/lib/libpart" + std::to_string(module) + ".so");
    for (int name = 0; name < 100; ++name)
      frames.push_back(made->frame(number, "part" + std::to_string(module) + "::function" +
                                               std::to_string(name) + "(Some const&, int)"));
  }
  std::size_t left = 0;
  for (std::size_t stack = 0; stack < kStacks; ++stack, --left) {
    if (left == 0) {
      left = 1000;
      made->owner({"process" + std::to_string(stack / 10'000), "thread" + std::to_string(stack), "",
                   100 + stack / 10'000, 100 + stack});
    }
    std::vector<Frame> path;
    for (std::size_t depth = 5 + random() % 40, most = 2; path.size() < depth; ++most)
      path.push_back(frames[random() % std::min(most, frames.size())]);
    path.push_back(frames[stack % frames.size()]);
    path.push_back(frames[stack / frames.size()]);
    made->add(path, {1000 + 1'000'000'000 / (1 + random() % 100'000)});
  }
  return made;
}

Made deep() {
  auto made = std::make_unique<MadeStacks>(kOnCpu);
  const std::uint32_t app = made->module("/usr/bin/worker");
  made->owner({"worker", "", "", 1, 1});
  std::vector<Frame> path(120, made->frame(app, "again"));
  for (std::uint64_t depth = 1; depth < 120; depth += 2)
    made->add({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth)}, {depth});
  return made;
}

Made none() { return std::make_unique<MadeStacks>(kOnCpu); }

constexpr std::pair<std::string_view, Made (*)()> kStacks[] = {
    {"few", few},   {"slower", slower}, {"hostile", hostile},
    {"many", many}, {"deep", deep},     {"none", none}};

using Write = std::function<std::string(const StackProfile&)>;

std::string draw(const StackProfile& profile, FlameStyle style) {
  style.title = profile.values[0].name + ", made";
  style.unit = profile.values[0].unit;
  return flame_page(make_flame_tree({{&profile, 0, 0}}), style);
}

// Compares with an earlier profile, whose window has this length in seconds.
std::string differ(const StackProfile& profile, Made (*before)(), double seconds) {
  const Made base = before();
  return flame_page(make_flame_tree({{&profile, 0, 10}}, {{&base->profile(), 0, seconds}}),
                    {.form = FlameStyle::Form::Html, .title = "difference", .unit = "ns"});
}

// Draws a comparison of several equal runs per side: with five runs every difference is
// significant, with two none is.
std::string judge(const StackProfile& profile, std::size_t runs) {
  const Made base = few();
  const FlameSide now(runs, {&profile, 0, 10}), before(runs, {&base->profile(), 0, 10});
  FlameTest test{{{runs, runs, false}, {}}, {}};
  for (std::size_t run = 0; run < 2 * runs; ++run) test.design.runs.push_back(run);
  return flame_page(make_flame_tree(now, before, test),
                    {.form = FlameStyle::Form::Html, .title = "judged", .unit = "ns"});
}

constexpr auto kSvg = FlameStyle::Form::Svg, kHtml = FlameStyle::Form::Html;

const std::pair<std::string_view, Write> kForms[] = {
    {"svg",
     [](const StackProfile& p) {
       return draw(p, {kSvg, {}, {}, false, false});
     }},
    {"html",
     [](const StackProfile& p) {
       return draw(p, {kHtml, {}, {}, false, false});
     }},
    {"icicle",
     [](const StackProfile& p) {
       return draw(p, {kSvg, {}, {}, true, false});
     }},
    {"waiting",
     [](const StackProfile& p) {
       return draw(p, {kSvg, {}, {}, false, true});
     }},
    {"against-few", [](const StackProfile& p) { return differ(p, few, 10); }},
    {"against-few-longer", [](const StackProfile& p) { return differ(p, few, 20); }},
    {"judged", [](const StackProfile& p) { return judge(p, 5); }},
    {"judged-by-few-runs", [](const StackProfile& p) { return judge(p, 2); }},
};

std::string export_to(const StackForm& form, const StackProfile& profile) {
  StringSink out;
  if (const auto written = form.write(profile, out); !written)
    throw_exception_from_error(written.error(), {});
  return out.text();
}

template <class Table>
auto find(const Table& table, std::string_view name) {
  for (const auto& [known, what] : table)
    if (known == name) return what;
  std::cerr << "make_flame: no " << name << "\n";
  std::exit(2);
}

Write form(std::string_view name) {
  for (const StackForm& form : stack_forms())
    if (form.name == name) return [&](const StackProfile& p) { return export_to(form, p); };
  return find(kForms, name);
}

}  // namespace
}  // namespace ctprof::tests

int main(int count, char** words) {
  using namespace ctprof;
  using namespace ctprof::tests;
  if (count != 3) return 2;
  const Write write = form(words[2]);
  const Made made = find(kStacks, words[1])();
  const StackProfile& profile = made->profile();
  const std::clock_t begin = std::clock();
  std::cout << write(profile);
  std::cerr << 1000 * (std::clock() - begin) / CLOCKS_PER_SEC << "\n";
  return std::cout.flush() ? 0 : 1;
}
