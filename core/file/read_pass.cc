#include "core/file/read_pass.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include "core/file/events.hpp"

namespace ctprof {
namespace {

namespace json = boost::json;

using Parser = json::basic_parser<Events>;

json::parse_options options_of_parser() {
  json::parse_options options;
  options.max_depth = limits::kDepth;
  return options;
}

std::string reason(json::error_code failed) {
  if (failed == json::error::incomplete) return "the text ends in the middle";
  if (failed == json::error::too_deep) return "nested more than " + std::to_string(limits::kDepth) + " deep";
  if (failed == json::error::extra_data) return "more text after the end";
  return "not sound JSON: " + failed.message();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// Feeds the parser. Returns why it stopped, if it did before the end; `read` counts the text that it took.
std::string feed(TextSource& source, Parser& parser, Budget& budget, json::error_code& failed) {
  std::size_t& read = budget.text;
  for (bool more = true; more;) {
    const auto slice = source.next();
    if (!slice) return slice.error().text;
    more = !slice->empty();
    if (parser.done()) {
      if (is_blank(*slice)) continue;
      failed = json::error::extra_data;
      return reason(failed);
    }
    const std::size_t taken = parser.write_some(more, slice->data(), slice->size(), failed);
    read += taken;
    if (failed) return reason(failed);
    if (!is_blank(slice->substr(taken))) failed = json::error::extra_data;
    if (failed) return reason(failed);
  }
  return "";
}

}  // namespace

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options, Draft& draft) {
  Parser parser(options_of_parser(), vocabulary, options, draft);
  json::error_code failed;
  PassEnd end;
  std::string why = feed(source, parser, draft.budget, failed);
  Events& events = parser.handler();
  if (why.empty()) return end;
  end.is_contents = !events.why().empty();
  if (end.is_contents) why = events.where() + ' ' + events.why();
  if (failed == json::error::incomplete || (failed && !end.is_contents)) why += ", in " + events.where();
  if (failed) why += " (byte " + std::to_string(draft.budget.text) + " of the text)";
  end.failure = std::move(why);
  end.registry = std::move(events.late_registry);
  return end;
}

}  // namespace ctprof
