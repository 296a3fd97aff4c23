// Draws and exports synthetic stacks for the readers of other projects.
//
//   make_flame STACKS FORM > FILE
//
// Standard error gets the CPU time of drawing in milliseconds, without building the stacks. The
// tables below list the accepted words; FORM may also be a format of stack_formats.hpp.

#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string_view>

#include "core/flame/flame_page.hpp"
#include "core/flame/stack_formats.hpp"
#include "tests/flame/stack_profile_builder.hpp"

namespace ctprof::tests {
namespace {

using StacksOwner = std::unique_ptr<StackProfileBuilder>;

// A few frames of every kind, with simple sums.
StacksOwner make_few() {
  auto stacks = std::make_unique<StackProfileBuilder>(kTwoValues);
  const std::uint32_t app = stacks->add_module("/usr/bin/worker"),
                      libc = stacks->add_module("/lib/libc.so.6");
  const std::uint32_t kernel = stacks->add_kernel(), jit = stacks->add_jit(70);
  const auto make_frame = [&](std::uint32_t module, const char* name) {
    return stacks->make_frame(module, name);
  };
  const Frame start = make_frame(app, "_start"), main = make_frame(app, "main"),
              parse = make_frame(app, "parse(char*)");
  stacks->add_owner({"worker", "io 1", "/a.slice", 70, 71});
  stacks->add_stack({start, main, parse}, {300'000'000, 3});
  stacks->add_stack({start, main, parse, parse, make_frame(libc, "memcpy")}, {150'000'000, 2});
  stacks->add_stack({start, main, make_frame(libc, "read"), make_frame(kernel, "entry_SYSCALL_64"),
                     make_frame(kernel, "vfs_read")},
                    {250'000'000, 0});
  stacks->add_stack({start, main, make_frame(jit, "LazyCompile:~render app.js:3")},
                    {100'000'000, 1});
  stacks->add_owner({"worker", "", "/a.slice", 70, 70});
  stacks->add_stack({stacks->make_frame(app, "poll", true)}, {50'000'000, 0});
  stacks->add_stack({make_frame(libc, "clone")}, {30'000'000, 0}, WalkEnd::EndOfCopy);
  stacks->add_stack({stacks->make_frame(libc, "")}, {20'000'000, 0});
  stacks->add_owner({"kworker/0:1", "", "", 9, 9});
  stacks->add_stack({make_frame(kernel, "kthread"), make_frame(kernel, "worker_thread")},
                    {100'000'000, 0});
  return stacks;
}

// The same stacks at a later time: parse takes twice the time, read is missing.
StacksOwner make_slower() {
  auto stacks = std::make_unique<StackProfileBuilder>(kTwoValues);
  const std::uint32_t app = stacks->add_module("/usr/bin/worker"),
                      libc = stacks->add_module("/lib/libc.so.6");
  const std::uint32_t kernel = stacks->add_kernel();
  const auto make_frame = [&](std::uint32_t module, const char* name) {
    return stacks->make_frame(module, name);
  };
  const Frame start = make_frame(app, "_start"), main = make_frame(app, "main"),
              parse = make_frame(app, "parse(char*)");
  stacks->add_owner({"worker", "io 1", "/a.slice", 80, 81});
  stacks->add_stack({start, main, parse}, {600'000'000, 3});
  stacks->add_stack({start, main, parse, parse, make_frame(libc, "memcpy")}, {100'000'000, 2});
  stacks->add_stack({start, main, make_frame(app, "report")}, {60'000'000, 1});
  stacks->add_owner({"kworker/0:1", "", "", 9, 9});
  stacks->add_stack({make_frame(kernel, "kthread"), make_frame(kernel, "worker_thread")},
                    {105'000'000, 0});
  return stacks;
}

// Names that users chose to attack readers.
StacksOwner make_hostile() {
  auto stacks = std::make_unique<StackProfileBuilder>(kTwoValues);
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
    const std::uint32_t module = stacks->add_module("/tmp/" + name);
    stacks->add_owner({name, name, "/" + name, 1, 1});
    stacks->add_stack({stacks->make_frame(module, name), stacks->make_frame(module, name + "2")},
                      {1'000'000, 1});
  }
  return stacks;
}

// Distinct stacks of all depths, with the number of frames of a busy host.
StacksOwner make_many() {
  constexpr std::size_t kStacks = 100'000;
  auto stacks = std::make_unique<StackProfileBuilder>(kOnCpu);
  std::mt19937_64 random(7);
  std::vector<Frame> frames;
  for (int module = 0; module < 50; ++module) {
    const std::uint32_t number =
        stacks->add_module("/usr/lib/libpart" + std::to_string(module) + ".so");
    for (int name = 0; name < 100; ++name)
      frames.push_back(stacks->make_frame(number, "part" + std::to_string(module) + "::function" +
                                                      std::to_string(name) + "(Some const&, int)"));
  }
  std::size_t remaining = 0;
  for (std::size_t stack = 0; stack < kStacks; ++stack, --remaining) {
    if (remaining == 0) {
      remaining = 1000;
      stacks->add_owner({"process" + std::to_string(stack / 10'000),
                         "thread" + std::to_string(stack), "", 100 + stack / 10'000, 100 + stack});
    }
    std::vector<Frame> path;
    for (std::size_t depth = 5 + random() % 40, frame_limit = 2; path.size() < depth; ++frame_limit)
      path.push_back(frames[random() % std::min(frame_limit, frames.size())]);
    path.push_back(frames[stack % frames.size()]);
    path.push_back(frames[stack / frames.size()]);
    stacks->add_stack(path, {1000 + 1'000'000'000 / (1 + random() % 100'000)});
  }
  return stacks;
}

StacksOwner make_deep() {
  auto stacks = std::make_unique<StackProfileBuilder>(kOnCpu);
  const std::uint32_t app = stacks->add_module("/usr/bin/worker");
  stacks->add_owner({"worker", "", "", 1, 1});
  std::vector<Frame> path(120, stacks->make_frame(app, "again"));
  for (std::uint64_t depth = 1; depth < 120; depth += 2)
    stacks->add_stack({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth)}, {depth});
  return stacks;
}

StacksOwner make_empty() { return std::make_unique<StackProfileBuilder>(kOnCpu); }

constexpr std::pair<std::string_view, StacksOwner (*)()> kStacks[] = {
    {"few", make_few},   {"slower", make_slower}, {"hostile", make_hostile},
    {"many", make_many}, {"deep", make_deep},     {"none", make_empty}};

using Write = std::function<std::string(const StackProfile&)>;

std::string draw(const StackProfile& profile, FlameStyle style) {
  style.title = profile.values[0].name + ", made";
  style.unit = profile.values[0].unit;
  return make_flame_page(make_flame_tree({{&profile, 0, 0}}), style);
}

// Compares with an earlier profile, whose window has this length in seconds.
std::string draw_difference(const StackProfile& profile, StacksOwner (*make_baseline)(),
                            double seconds) {
  const StacksOwner baseline = make_baseline();
  return make_flame_page(
      make_flame_tree({{&profile, 0, 10}}, {{&baseline->get_profile(), 0, seconds}}),
      {.format = FlameStyle::Format::Html, .title = "difference", .unit = "ns"});
}

// Draws a comparison of several equal runs per side: with five runs every difference is
// significant, with two none is.
std::string draw_tested(const StackProfile& profile, std::size_t runs) {
  const StacksOwner baseline = make_few();
  const FlameSide candidate_side(runs, {&profile, 0, 10}),
      baseline_side(runs, {&baseline->get_profile(), 0, 10});
  FlameTestDesign test{{{runs, runs, false}, {}}, {}};
  for (std::size_t run = 0; run < 2 * runs; ++run) test.design.runs.push_back(run);
  return make_flame_page(make_flame_tree(candidate_side, baseline_side, test),
                         {.format = FlameStyle::Format::Html, .title = "judged", .unit = "ns"});
}

constexpr auto kSvg = FlameStyle::Format::Svg, kHtml = FlameStyle::Format::Html;

const std::pair<std::string_view, Write> kWriters[] = {
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
    {"against-few", [](const StackProfile& p) { return draw_difference(p, make_few, 10); }},
    {"against-few-longer", [](const StackProfile& p) { return draw_difference(p, make_few, 20); }},
    {"judged", [](const StackProfile& p) { return draw_tested(p, 5); }},
    {"judged-by-few-runs", [](const StackProfile& p) { return draw_tested(p, 2); }},
};

std::string export_profile(const StackFormat& form, const StackProfile& profile) {
  StringSink out;
  if (const auto written = form.write(profile, out); !written)
    throw_exception_from_error(written.error(), {});
  return out.text();
}

template <class Table>
auto find(const Table& table, std::string_view name) {
  for (const auto& [known, value] : table)
    if (known == name) return value;
  std::cerr << "make_flame: no " << name << "\n";
  std::exit(2);
}

Write format(std::string_view name) {
  for (const StackFormat& format : get_stack_formats())
    if (format.name == name)
      return [&](const StackProfile& p) { return export_profile(format, p); };
  return find(kWriters, name);
}

}  // namespace
}  // namespace ctprof::tests

int main(int count, char** words) {
  using namespace ctprof;
  using namespace ctprof::tests;
  if (count != 3) return 2;
  const Write write = format(words[2]);
  const StacksOwner stacks = find(kStacks, words[1])();
  const StackProfile& profile = stacks->get_profile();
  const std::clock_t begin = std::clock();
  std::cout << write(profile);
  std::cerr << 1000 * (std::clock() - begin) / CLOCKS_PER_SEC << "\n";
  return std::cout.flush() ? 0 : 1;
}
