// A program with functions that are named by a symbol list and inlined functions that only debug
// information names. strip_names.py creates its stripped variants.

#include <cstddef>

namespace named {

struct Point {
  [[gnu::always_inline]] int sum() const { return x + y; }
  int x, y;
};

[[gnu::always_inline]] inline int twice(int value) {
  asm volatile("nop");
  return value * 2;
}

[[gnu::always_inline]] static inline int inner(const Point& point) {
  asm volatile("nop");
  return twice(point.sum()) + 1;
}

template <class T>
[[gnu::noinline]] int generic(T value) {
  const Point point{static_cast<int>(value), 2};
  return inner(point) * inner({2, 3});
}

[[gnu::noinline]] static int static_function(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += generic(i) + twice(generic(2.5 * i));
  return sum;
}

}  // namespace named

extern "C" int function_with_symbol(int count) {
  return named::twice(named::static_function(count));
}

int main(int count, char**) { return function_with_symbol(count) == 7; }
