#include "core/base/json_text.hpp"

namespace ctprof {
namespace {

template <class Write>
void append(std::string& out, Write write) {
  JsonWriter json(Escape::Unshowable);
  write(json);
  out += json.view();
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  append(out, [&](JsonWriter& json) { json.text(text); });
}
void append_json(std::string& out, const ctprof_number& number) {
  append(out, [&](JsonWriter& json) { write_json(number, json); });
}
void append_json(std::string& out, const Difference& difference) {
  append(out, [&](JsonWriter& json) { write_json(difference, json); });
}
void append_json(std::string& out, double value) {
  append(out, [&](JsonWriter& json) { write_json(value, json); });
}
void append_json(std::string& out, std::uint64_t value) {
  append(out, [&](JsonWriter& json) { json.number(value); });
}
void append_made_json(std::string& out, std::string_view json) {
  append(out, [&](JsonWriter& made) { made.made(json); });
}

}  // namespace ctprof
