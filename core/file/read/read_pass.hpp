// One pass over a file's text, straight into columns.
//
// Definitions must be known before the tables come. A file of ours has its registry first; where a
// registry follows later, because somebody has sorted the keys, the pass ends early and gives the
// registry back for another one.
//
// What is here:   the parser's events, and which cell each belongs to.
// What is not:    the cell itself (row_filler.hpp), what the pieces mean together (settle.hpp).

#pragma once

#include <optional>
#include <string>

#include "core/file/layout/registry_part.hpp"
#include "core/file/read/draft.hpp"
#include "core/file/read/text_source.hpp"
#include "core/registry/metric_def.hpp"

namespace ctprof {

struct PassOptions {
  std::optional<RegistryPart>
      registry;                // known from an earlier pass; the file's own is then passed over
  bool only_registry = false;  // look for that and nothing else
};

struct PassEnd {
  std::string failure;                   // the place and the reason; empty: the whole file was read
  bool is_contents = false;              // sound JSON, but not what should be there
  std::optional<RegistryPart> registry;  // found too late, or looked for
};

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                  Draft& draft);

}  // namespace ctprof
