// Declares options. Each command has a list of its options: for each one its name, the member that
// it sets and the parser of its value. The list is the only place that names an option: parsing,
// help, manual pages, completion and settings follow from it.
//
//   struct NoiseOptions : ReportOptions {
//     double shift = 0;
//   };
//   constexpr auto kNoiseOptions = option_list<NoiseOptions>(
//       kVerbose, kGroupBy, kWhere,
//       option("shift", "PERCENT", member<&NoiseOptions::shift>, Fraction<kShift>(),
//              "Also print how many pairs of runs would find a shift of PERCENT."),
//       kScreen, kQuietAndHelp);
//
// The help lists options in this order. Options of several commands belong to a group: a struct
// that the commands' structs derive from, and constants such as kWhere. An option has the same
// meaning and the same help for all commands.
//
// See also: parsers of values (option_parsers.hpp), commands (command.hpp).

#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ctprof::cli {

struct CommonOptions;

// A command line as texts, including the settings that apply to it.
struct CommandLine {
  std::string command{};                          // empty: none
  std::vector<std::string> arguments{};           // those before the first --vs
  std::vector<std::vector<std::string>> sides{};  // the arguments after each --vs, up to the next
  std::vector<std::string> child_command{};       // the words after --, if the command takes them
  // The values of each option, in the order of the command line; a switch has none.
  std::map<std::string, std::vector<std::string>, std::less<>> values{};
  std::set<std::string, std::less<>> typed{};  // options that do not come from settings

  bool has(std::string_view option) const { return values.contains(option); }
  bool is_typed(std::string_view option) const { return typed.contains(option); }
};

// An option that a command line contains.
struct OptionUse {
  std::string_view option;                 // long name
  const std::vector<std::string>& values;  // never empty, if the option takes a value
  const CommandLine& line;

  // The value that applies if an option takes one value.
  const std::string& last() const { return values.back(); }
};

// An option of a command, without the type of its member.
struct OptionSpec {
  const char* name;   // "long,s"
  const char* value;  // names the value in the help; null: the option is a switch
  const char* help;
  // Whether the option can have a setting. Options that concern a single command line, such as its
  // output, cannot.
  bool is_settable = true;
  // The option that this one requires; null: none. Without it, a setting of this option has no
  // effect, and on the command line this option is an error.
  const char* required_option = nullptr;
  const char* requirement = nullptr;        // as the error names it: "--every, such as --every 60s"
  const char* overriding_option = nullptr;  // if typed, settings of this option have no effect
  const char* caption = nullptr;            // of its part of the command's help; null: the last
  // Parses the value into the member of `group`, the struct that declares the member.
  Result<void> (*read)(const OptionUse& use, void* group) = nullptr;
  // Returns that struct in the options of the command.
  void* (*find_group)(CommonOptions& options) = nullptr;
};

// "output" of "output,o".
constexpr std::string_view long_name(const OptionSpec& option) {
  const std::string_view name = option.name;
  return name.substr(0, name.find(','));
}

// An option whose member belongs to Group.
template <class Group>
struct GroupOption {
  OptionSpec spec;

  constexpr GroupOption only_typed() const {
    GroupOption changed = *this;
    changed.spec.is_settable = false;
    return changed;
  }
  constexpr GroupOption needs(const char* option, const char* requirement) const {
    GroupOption changed = *this;
    changed.spec.required_option = option;
    changed.spec.requirement = requirement;
    return changed;
  }
  constexpr GroupOption overridden_by(const char* option) const {
    GroupOption changed = *this;
    changed.spec.overriding_option = option;
    return changed;
  }
};

template <class Class, class Value>
Class class_of_member(Value Class::*);

// A member, or a member of a member: member<&RecorderOptions::record, &RecordOptions::names>.
template <auto... path>
struct Member;

template <auto first, auto... rest>
struct Member<first, rest...> {
  using Group = decltype(class_of_member(first));
  static auto& find(Group& group) {
    if constexpr (sizeof...(rest) == 0)
      return group.*first;
    else
      return Member<rest...>::find(group.*first);
  }
};

template <auto... path>
inline constexpr Member<path...> member{};

// An option with a value. Parser: Result<void> operator()(const OptionUse&, Value&) const, without
// state.
template <auto... path, class Parser>
constexpr auto option(const char* name, const char* value, Member<path...>, Parser,
                      const char* help) {
  using Target = Member<path...>;
  using Group = typename Target::Group;
  OptionSpec spec{.name = name, .value = value, .help = help};
  spec.read = [](const OptionUse& use, void* group) {
    return Parser()(use, Target::find(*static_cast<Group*>(group)));
  };
  return GroupOption<Group>{spec};
}

// An option without a value, which sets a bool.
template <bool value, auto... path>
constexpr auto make_switch(const char* name, Member<path...>, const char* help) {
  using Target = Member<path...>;
  using Group = typename Target::Group;
  OptionSpec spec{.name = name, .value = nullptr, .help = help};
  spec.read = [](const OptionUse&, void* group) -> Result<void> {
    Target::find(*static_cast<Group*>(group)) = value;
    return {};
  };
  return GroupOption<Group>{spec};
}
template <auto... path>
constexpr auto switch_on(const char* name, Member<path...> target, const char* help) {
  return make_switch<true>(name, target, help);
}
template <auto... path>
constexpr auto switch_off(const char* name, Member<path...> target, const char* help) {
  return make_switch<false>(name, target, help);
}

// --- lists

template <class Options, class Group>
constexpr std::array<OptionSpec, 1> specs_of(const GroupOption<Group>& option) {
  OptionSpec spec = option.spec;
  spec.find_group = [](CommonOptions& common) -> void* {
    return static_cast<Group*>(&static_cast<Options&>(common));
  };
  return {spec};
}

template <class Options, class Group, std::size_t size>
constexpr std::array<OptionSpec, size> specs_of(const std::array<GroupOption<Group>, size>& group) {
  std::array<OptionSpec, size> specs{};
  for (std::size_t i = 0; i < size; ++i) specs[i] = specs_of<Options>(group[i])[0];
  return specs;
}

template <class, std::size_t size>
constexpr std::array<OptionSpec, size> specs_of(const std::array<OptionSpec, size>& specs) {
  return specs;
}

template <std::size_t... sizes>
constexpr auto concatenate_specs(const std::array<OptionSpec, sizes>&... parts) {
  std::array<OptionSpec, (sizes + ... + 0)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const OptionSpec& spec : part) all[at++] = spec;
  };
  (append(parts), ...);
  return all;
}

// The options of a command whose struct is Options. Items: options, arrays of options of one group,
// and lists of the same command.
template <class Options, class... Items>
constexpr auto option_list(const Items&... items) {
  return concatenate_specs(specs_of<Options>(items)...);
}

// The list with a caption for the command's help.
template <std::size_t size>
constexpr auto with_caption(const char* caption, std::array<OptionSpec, size> list) {
  for (OptionSpec& spec : list) spec.caption = caption;
  return list;
}

}  // namespace ctprof::cli
