// Rules that reduce nothing: an identity groups rows, a dead counter never moves, a formula works
// on aggregates (compare/figures/rollup.hpp).

#include "core/rules/builtin.hpp"

namespace ctprof::rules {
namespace {

void add_nothing(void*, const ctprof_rows*) {}
void merge_nothing(void*, const void*) {}

// A rule without a state: whoever aggregates passes it over.
constexpr ctprof_rule rule(const char* name, const char* newtypes, const char* description) {
  return {.size = sizeof(ctprof_rule),
          .state_size = 0,
          .name = name,
          .fallback = nullptr,
          .newtypes = newtypes,
          .description = description,
          .init = nullptr,
          .add = add_nothing,
          .merge = merge_nothing,
          .finish = nullptr,
          .destroy = nullptr,
          .number = nullptr,
          .delta = nullptr,
          .text = nullptr,
          .json = nullptr,
          .extras = nullptr,
          .parts = nullptr,
          .reduction = CTPROF_REDUCES_OTHERWISE,
          .reserved = 0};
}

constexpr ctprof_rule kInert[] = {
    rule("Formula", "Derived", "computed from a group's aggregates"),
    rule("Key", "IdU32,IdU64,IdText", "identifies or groups rows"),
    rule("Dead", "DeadCounter", "listed, never reduced"),
};

}  // namespace

std::span<const ctprof_rule> inert() { return kInert; }

}  // namespace ctprof::rules
