#include "core/compare/asked/derive.hpp"

#include "core/expression/expression.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// A name that an expression could read again, and nothing else.
bool is_name(std::string_view text) {
  const auto inputs = inputs_of(text);
  return inputs.size() == 1 && inputs.front() == text && text.find('[') == text.npos;
}

}  // namespace

Error derive_refusal(std::string_view text, const std::string& cause) {
  return error("reading --derive", text, cause);
}

Result<DerivedDef> parse_derive(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == text.npos) return derive_refusal(text, "it is not of the form 'name = expression'");
  DerivedDef asked;
  asked.name = sdk::trimmed(text.substr(0, equals));
  asked.expression = sdk::trimmed(text.substr(equals + 1));
  asked.section = "derived";
  if (!is_name(asked.name))
    return derive_refusal(text, "'" + asked.name + "' is no name: letters, digits, dots and _");
  const auto expression = Expression::parse(asked.expression);
  if (!expression) return expression.error();
  if (expression->inputs().empty()) return derive_refusal(text, "it reads no metric");
  return asked;
}

}  // namespace ctprof
