#include "core/file/read/read_pass.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include "core/file/read/events.hpp"

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
  if (failed == json::error::too_deep)
    return "nested more than " + std::to_string(limits::kDepth) + " deep";
  if (failed == json::error::extra_data) return "more text after the end";
  return "not sound JSON: " + failed.message();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// Hands text to the parser, but for the rows that need none.
class Feeder {
 public:
  explicit Feeder(Parser& parser) : parser_(&parser) {}

  // Returns how much of the slice was taken: all of it, unless the document ended within.
  std::size_t feed(std::string_view slice, json::error_code& failed) {
    for (std::string_view left = slice; !left.empty();) {
      if (is_at_row_) left.remove_prefix(parser_->handler().read_rows(left));
      if (left.empty()) break;
      const std::string_view piece = left.substr(0, to_next_row(left));
      const std::size_t taken = parser_->write_some(true, piece.data(), piece.size(), failed);
      if (failed) return slice.size();
      left.remove_prefix(taken);
      if (parser_->done()) return slice.size() - left.size();
      is_at_row_ = piece.back() == ',' && parser_->handler().is_between_rows();
    }
    return slice.size();
  }

 private:
  // How far the parser gets before there may be a row that can do without: to behind the bracket
  // before the first one, and then to behind the comma before each. What looks so need not be so.
  std::size_t to_next_row(std::string_view text) const {
    const std::string_view border = parser_->handler().is_among_threads() ? "}," : "\"threads\":[";
    const std::size_t at = text.find(std::string(border) + '{');
    return at == text.npos ? text.size() : at + border.size();
  }

  Parser* parser_;
  bool is_at_row_ = false;
};

// Reads to the end. Returns why it stopped, if it did before; `read` counts the text that was
// taken.
std::string feed(TextSource& source, Parser& parser, Budget& budget, json::error_code& failed) {
  std::size_t& read = budget.text;
  Feeder feeder(parser);
  for (bool more = true; more;) {
    const auto slice = source.next();
    if (!slice) return slice.error().text;
    more = !slice->empty();
    if (parser.done()) {
      if (is_blank(*slice)) continue;
      failed = json::error::extra_data;
      return reason(failed);
    }
    const std::size_t taken =
        more ? feeder.feed(*slice, failed) : parser.write_some(false, "", 0, failed);
    read += taken;
    if (failed) return reason(failed);
    if (!is_blank(slice->substr(taken))) failed = json::error::extra_data;
    if (failed) return reason(failed);
  }
  return "";
}

}  // namespace

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                  Draft& draft) {
  Parser parser(options_of_parser(), vocabulary, options, draft);
  json::error_code failed;
  PassEnd end;
  std::string why = feed(source, parser, draft.budget, failed);
  Events& events = parser.handler();
  if (why.empty()) return end;
  end.is_contents = !events.why().empty();
  if (end.is_contents) why = events.where() + ' ' + events.why();
  if (failed == json::error::incomplete || (failed && !end.is_contents))
    why += ", in " + events.where();
  if (failed) why += " (byte " + std::to_string(draft.budget.text) + " of the text)";
  end.failure = std::move(why);
  end.registry = std::move(events.late_registry);
  return end;
}

}  // namespace ctprof
