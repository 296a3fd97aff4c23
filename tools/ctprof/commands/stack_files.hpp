// Files that are made of a window's call stacks: pictures, what other people's tools read, and the
// file itself with more names.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/flame/stack_forms.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

// Writes the stacks of the file's window, those of --metric or all, in that form. Returns the bytes
// that were written.
Result<std::uint64_t> export_stacks(const std::string& file, const StackForm& form,
                                    const Target& target, const Options& options);

// The form of that name, or null.
const StackForm* find_stack_form(std::string_view name);

// Whether all that --debug-dir names are directories, asked with the user's own rights.
Result<void> check_debug_directories(const Options& options);
// The same for a verb that records. Says where --debug-dir is ignored: with capabilities of its
// file, ctprof reads nothing for others that they point at.
Result<void> check_names(const Options& options);

}  // namespace ctprof::cli
