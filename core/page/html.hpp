// Appends pieces of HTML to a text. Text arguments are escaped, so they are never markup.

#pragma once

#include <string>
#include <string_view>

#include "core/base/markup.hpp"

namespace ctprof {

// Appends <p class="quiet">text</p>; `attributes` are markup, including their values.
inline void append_element(std::string& out, std::string_view name, std::string_view text,
                           std::string_view attributes = {}) {
  out.append("<").append(name);
  if (!attributes.empty()) out.append(" ").append(attributes);
  out += '>';
  append_markup(out, text);
  out.append("</").append(name).append(">");
}

// The same, followed by a line end.
inline void append_line(std::string& out, std::string_view name, std::string_view text,
                        std::string_view attributes = {}) {
  append_element(out, name, text, attributes);
  out += '\n';
}

// Appends a list of at most `max_items` sentences; nothing if there are none.
template <class Texts>
void append_list(std::string& out, const Texts& texts, std::size_t max_items) {
  if (texts.empty()) return;
  out += "<ul>\n";
  std::size_t shown = 0;
  for (const std::string& text : texts) {
    if (shown == max_items) break;
    append_line(out, "li", text);
    ++shown;
  }
  if (texts.size() > shown)
    append_line(out, "li", "and " + std::to_string(texts.size() - shown) + " more",
                "class=\"quiet\"");
  out += "</ul>\n";
}

}  // namespace ctprof
