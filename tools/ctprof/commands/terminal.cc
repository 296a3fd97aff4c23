#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>
// ncurses defines these as macros; this file uses them as names.
#undef lines
#undef columns

#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/commands/terminal.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::live {
namespace {

// State that restores the terminal. A signal handler uses it, so it needs no allocation and no
// query.
struct RestoreState {
  int fd = -1;
  termios modes{};
  std::array<char, 512> text{};
  std::size_t size = 0;
};
RestoreState g_restore_state;
// Disables mouse reports, in both forms that ncurses enables.
constexpr std::string_view kMouseOff = "\033[?1006;1000l";
std::atomic<bool> g_was_continued{false};  // the process continued after a stop
std::atomic<bool> g_is_resized{false};     // since the last check

void restore_terminal() {
  if (g_restore_state.fd < 0) return;
  [[maybe_unused]] const ssize_t written =
      ::write(g_restore_state.fd, g_restore_state.text.data(), g_restore_state.size);
  ::tcsetattr(g_restore_state.fd, TCSANOW, &g_restore_state.modes);
  g_restore_state.fd = -1;
}

void on_continue(int) { g_was_continued = true; }
void on_resize(int) { g_is_resized = true; }

void on_fatal_signal(int signal) {
  if (cli::is_own_process()) restore_terminal();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // it is blocked until this handler returns
}

void add_restore_sequence(const char* capability) {
  const char* text = ::tigetstr(capability);
  if (!text || text == reinterpret_cast<const char*>(-1)) return;
  // Stops at a delay ("$<5>"), which only printers need.
  for (; *text && *text != '$' && g_restore_state.size < g_restore_state.text.size(); ++text)
    g_restore_state.text[g_restore_state.size++] = *text;
}

// Adds the sequence only for terminals with a mouse: others could print it.
void add_mouse_restore_sequence() {
  const char* const key = ::tigetstr("kmous");
  if (!key || key == reinterpret_cast<const char*>(-1)) return;
  for (const char letter : kMouseOff)
    if (g_restore_state.size < g_restore_state.text.size())
      g_restore_state.text[g_restore_state.size++] = letter;
}

// Selects a UTF-8 locale for ncurses, because ctprof prints UTF-8 in every locale.
class Utf8Locale {
 public:
  explicit Utf8Locale(locale_t locale) : old_locale_(locale ? ::uselocale(locale) : nullptr) {}
  ~Utf8Locale() {
    if (old_locale_) ::uselocale(old_locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t old_locale_;
};

std::wstring to_wide(std::string_view text) {
  std::wstring letters;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size > text.size()) break;
    char32_t letter = size == 1 ? first : first & (0xffu >> (size + 1));
    for (std::size_t at = 1; at < size; ++at)
      letter = letter << 6 | (static_cast<unsigned char>(text[at]) & 0x3f);
    letters += static_cast<wchar_t>(letter);
    text.remove_prefix(size);
  }
  return letters;
}

void write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;  // the terminal is closed; the wait for keys detects it
    }
  }
}

// Collects in `memory` what is written to `output`, and sends it to the terminal in one piece when
// destroyed. ncurses (6.4) writes each cursor movement separately, about a hundred times per
// screen, and a terminal would show the parts. SIGTSTP is blocked meanwhile, because its handler
// would change the modes of `output`.
class BufferedOutput {
 public:
  BufferedOutput(int output, int terminal, int memory)
      : output_(output), terminal_(terminal), memory_(memory) {
    sigset_t stops;
    ::sigemptyset(&stops);
    ::sigaddset(&stops, SIGTSTP);
    ::sigprocmask(SIG_BLOCK, &stops, &old_mask_);
    ::dup3(memory_, output_, O_CLOEXEC);
  }
  ~BufferedOutput() {
    ::dup3(terminal_, output_, O_CLOEXEC);
    std::string text(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_CUR)), '\0');
    const ssize_t bytes_read = ::pread(memory_, text.data(), text.size(), 0);
    ::lseek(memory_, 0, SEEK_SET);
    text.resize(bytes_read > 0 ? static_cast<std::size_t>(bytes_read) : 0);
    write_fully(terminal_, text);
    ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  }
  BufferedOutput(const BufferedOutput&) = delete;
  BufferedOutput& operator=(const BufferedOutput&) = delete;

 private:
  int output_, terminal_, memory_;
  sigset_t old_mask_;
};

attr_t curses_attribute(LineStyle style) {
  switch (style) {
    case LineStyle::Heading: return A_UNDERLINE;
    case LineStyle::Selected: return A_REVERSE;
    case LineStyle::Dim: return A_DIM;
    case LineStyle::Bold: return A_BOLD;
    case LineStyle::Plain: break;
  }
  return A_NORMAL;
}

std::optional<SpecialKey> find_special_key(wint_t code) {
  switch (code) {
    case KEY_UP: return SpecialKey::Up;
    case KEY_DOWN: return SpecialKey::Down;
    case KEY_PPAGE: return SpecialKey::PageUp;
    case KEY_NPAGE: return SpecialKey::PageDown;
    case KEY_HOME: return SpecialKey::Home;
    case KEY_END: return SpecialKey::End;
    case KEY_LEFT: return SpecialKey::Left;
    case KEY_RIGHT: return SpecialKey::Right;
    case KEY_ENTER: return SpecialKey::Enter;
    case KEY_BACKSPACE: return SpecialKey::Backspace;
    default: return std::nullopt;
  }
}

// Mouse events that ncurses reports to this program.
constexpr mmask_t kMouseEvents = BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED;

// Returns none for unused events, such as the release of a button.
std::optional<MouseEvent> read_mouse_event() {
  MEVENT event{};
  if (::getmouse(&event) != OK || event.x < 0 || event.y < 0) return std::nullopt;
  MouseEvent found{.line = static_cast<std::size_t>(event.y),
                   .column = static_cast<std::size_t>(event.x)};
  if ((event.bstate & BUTTON4_PRESSED) != 0)
    found.kind = MouseEvent::Kind::WheelUp;
  else if ((event.bstate & BUTTON5_PRESSED) != 0)
    found.kind = MouseEvent::Kind::WheelDown;
  else if ((event.bstate & BUTTON1_PRESSED) == 0)
    return std::nullopt;
  return found;
}

// curses stores lines and columns as signed 16-bit numbers.
constexpr unsigned kMaxCells = 32'767;

bool is_known_terminal_type(const char* type, int terminal) {
  int status = 0;
  return type && ::setupterm(type, terminal, &status) == OK;
}

// Returns why curses did not open the terminal: curses reports no reason.
Error explain_open_failure(const char* type, int terminal) {
  winsize size{};
  ::ioctl(terminal, TIOCGWINSZ, &size);
  if (size.ws_col > kMaxCells || size.ws_row > kMaxCells)
    return error("opening the terminal", type ? type : "(TERM is not set)",
                 "it has " + std::to_string(size.ws_col) + " columns and " +
                     std::to_string(size.ws_row) + " lines; make it smaller than " +
                     std::to_string(kMaxCells + 1) + " of each");
  if (is_known_terminal_type(type, terminal))
    return error("opening the terminal", type,
                 "not enough memory to draw on " + std::to_string(size.ws_col) + " columns and " +
                     std::to_string(size.ws_row) + " lines");
  return error("opening the terminal", type ? type : "(TERM is not set)",
               "unknown terminal type; set TERM to the type of your terminal, such as xterm");
}

}  // namespace

struct Terminal::Screen {
  locale_t locale = nullptr;
  std::FILE* input = nullptr;
  std::FILE* output = nullptr;
  sdk::Fd terminal, memory;  // where `output` leads, normally and during draw()
  ::SCREEN* screen = nullptr;
  struct sigaction old_continue_action {
  }, old_resize_action{};
  bool watches_size = false, uses_mouse = false;
  std::array<std::pair<int, struct sigaction>, 2> old_end_actions{{{SIGQUIT, {}}, {SIGHUP, {}}}};

  Screen() = default;
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    if (screen) {
      const Utf8Locale utf8(locale);
      cli::set_exit_action(nullptr);
      ::endwin();
      g_restore_state = {};
      ::sigaction(SIGCONT, &old_continue_action, nullptr);
      for (const auto& [signal, before] : old_end_actions) ::sigaction(signal, &before, nullptr);
      ::delscreen(screen);
    }
    if (watches_size) ::sigaction(SIGWINCH, &old_resize_action, nullptr);
    if (input) std::fclose(input);
    if (output) std::fclose(output);
    if (locale) ::freelocale(locale);
  }

  // ncurses keeps a handler that was installed before it starts. Its own handler would query the
  // size when the next screen is written; `output` is a memory file then, so the query would fail
  // and not be repeated.
  void watch_size() {
    struct sigaction action {};
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = &on_resize;
    action.sa_flags = SA_RESTART;
    watches_size = ::sigaction(SIGWINCH, &action, &old_resize_action) == 0;
  }

  void apply_size() const {
    winsize current_size{};
    if (::ioctl(terminal.get(), TIOCGWINSZ, &current_size) == 0 && current_size.ws_row > 0 &&
        current_size.ws_col > 0)
      ::resize_term(current_size.ws_row, current_size.ws_col);
  }

  void handle_signals() {
    struct sigaction action {};
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = &on_continue;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCONT, &action, &old_continue_action);
    action.sa_handler = &on_fatal_signal;
    for (auto& [signal, before] : old_end_actions) ::sigaction(signal, &action, &before);
    cli::set_exit_action(&restore_terminal);
  }
};

Terminal::Terminal(std::unique_ptr<Screen> screen) : screen_(std::move(screen)) {}
Terminal::Terminal(Terminal&&) noexcept = default;
Terminal::~Terminal() = default;

Result<Terminal> Terminal::open(int input, int output) {
  auto screen = std::make_unique<Screen>();
  screen->locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const Utf8Locale utf8(screen->locale);
  screen->input = ::fdopen(::fcntl(input, F_DUPFD_CLOEXEC, 0), "r");
  screen->output = ::fdopen(::fcntl(output, F_DUPFD_CLOEXEC, 0), "w");
  screen->terminal = sdk::Fd(::fcntl(output, F_DUPFD_CLOEXEC, 0));
  screen->memory = sdk::Fd(::memfd_create("ctprof-picture", MFD_CLOEXEC));
  if (!screen->input || !screen->output || !screen->terminal || !screen->memory)
    return errno_error("opening", "the terminal", errno);
  const char* type = std::getenv("TERM");
  RestoreState restore_state;
  restore_state.fd = screen->terminal.get();
  if (::tcgetattr(restore_state.fd, &restore_state.modes) != 0)
    return errno_error("reading the modes of", "the terminal", errno);
  screen->watch_size();
  screen->screen = ::newterm(type, screen->output, screen->input);
  if (!screen->screen) return explain_open_failure(type, restore_state.fd);
  ::set_term(screen->screen);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::set_escdelay(25);
  ::intrflush(stdscr, FALSE);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::curs_set(0);
  ::mouseinterval(0);  // a press is an event; do not wait for a second click
  g_restore_state = restore_state;
  for (const char* capability : {"sgr0", "rmkx", "cnorm", "rmcup"})
    add_restore_sequence(capability);
  add_mouse_restore_sequence();
  screen->handle_signals();
  return Terminal(std::move(screen));
}

Size Terminal::size() const {
  return {static_cast<std::size_t>(std::max(::getmaxy(stdscr), 0)),
          static_cast<std::size_t>(std::max(::getmaxx(stdscr), 0))};
}

void Terminal::draw(std::span<const Line> lines) {
  const Utf8Locale utf8(screen_->locale);
  ::werase(stdscr);
  const std::size_t max_lines = size().lines;
  for (std::size_t at = 0; at < std::min(lines.size(), max_lines); ++at) {
    if (lines[at].text.empty()) continue;
    const std::wstring text = to_wide(lines[at].text);
    ::wattrset(stdscr, static_cast<int>(curses_attribute(lines[at].style)));
    ::wmove(stdscr, static_cast<int>(at), 0);
    ::waddnwstr(stdscr, text.c_str(), static_cast<int>(text.size()));
    if (lines[at].style == LineStyle::Selected)
      for (int column = ::getcurx(stdscr);
           column < ::getmaxx(stdscr) && ::getcury(stdscr) == static_cast<int>(at); ++column)
        ::waddch(stdscr, ' ');
  }
  ::wattrset(stdscr, A_NORMAL);
  const BufferedOutput buffered_output(::fileno(screen_->output), screen_->terminal.get(),
                                       screen_->memory.get());
  ::wrefresh(stdscr);
}

void Terminal::use_mouse(bool is_enabled) {
  if (screen_->uses_mouse == is_enabled) return;
  screen_->uses_mouse = is_enabled;
  ::mousemask(is_enabled ? kMouseEvents : 0, nullptr);
}

std::optional<Input> Terminal::input() {
  const Utf8Locale utf8(screen_->locale);
  const bool was_continued = g_was_continued.exchange(false),
             is_resized = g_is_resized.exchange(false);
  if (was_continued) ::reset_prog_mode();
  if (was_continued || is_resized) {
    screen_->apply_size();
    invalidate();
    return live::to_key(SpecialKey::Resized);
  }
  wint_t code = 0;
  int result = ::wget_wch(stdscr, &code);
  for (; result == KEY_CODE_YES && code == KEY_MOUSE; result = ::wget_wch(stdscr, &code))
    if (const auto event = read_mouse_event()) return *event;
  if (result == ERR) return std::nullopt;
  if (result == KEY_CODE_YES) {
    const auto special = find_special_key(code);
    return special ? live::to_key(*special) : Key{0};
  }
  if (code == L'\r' || code == L'\n') return live::to_key(SpecialKey::Enter);
  if (code == 0x1b) return live::to_key(SpecialKey::Escape);
  if (code == 0x7f || code == 0x08) return live::to_key(SpecialKey::Backspace);
  return static_cast<Key>(code);
}

void Terminal::invalidate() { ::clearok(::curscr, TRUE); }

bool Terminal::is_closed() const {
  pollfd one{::fileno(screen_->input), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace ctprof::live
