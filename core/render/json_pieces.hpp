// JSON put together piece by piece: whoever adds a member or an item puts the comma before it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/number.hpp"

namespace ctprof {

class JsonPieces {
 public:
  explicit JsonPieces(std::string& out) : out_(&out) {}

  void open(char bracket) {
    *out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    *out_ += bracket;
    first_ = false;
  }
  // Before an item of an array that is no object.
  void comma() {
    if (!first_) *out_ += ',';
    first_ = false;
  }
  // An object in an array begins.
  void open_item() {
    comma();
    open('{');
  }
  void key(std::string_view name) {
    comma();
    append_json(*out_, name);
    *out_ += ':';
  }
  void raw(std::string_view json) { *out_ += json; }
  void text(std::string_view text) { append_json(*out_, text); }
  template <class Number>
  void number(const Number& number) {
    append_json(*out_, number);
  }
  void text_member(std::string_view name, std::string_view text) {
    key(name);
    append_json(*out_, text);
  }
  void number_member(std::string_view name, std::uint64_t number) {
    key(name);
    append_json(*out_, number);
  }
  std::string& out() { return *out_; }

 private:
  std::string* out_;
  bool first_ = true;
};

}  // namespace ctprof
