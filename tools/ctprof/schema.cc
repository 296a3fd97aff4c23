// ctprof VERB --json-schema: what the verb's JSON looks like, for those who read it.

#include <algorithm>
#include <iterator>

#include "schemas.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

int print_schema(std::string_view verb) {
  const auto schema = std::find_if(std::begin(kSchemas), std::end(kSchemas),
                                   [&](const Schema& s) { return s.verb == verb; });
  return schema == std::end(kSchemas) ? fail("there is no schema of '" + std::string(verb) + "'")
                                      : print(schema->text);
}

}  // namespace ctprof::cli
