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
struct Remedy {
  int fd = -1;
  termios modes{};
  std::array<char, 512> text{};
  std::size_t size = 0;
};
Remedy g_remedy;
// Disables mouse reports, in both forms that ncurses enables.
constexpr std::string_view kMouseOff = "\033[?1006;1000l";
std::atomic<bool> g_goes_on{false};     // the process continued after a stop
std::atomic<bool> g_is_resized{false};  // since the last check

void put_right() {
  if (g_remedy.fd < 0) return;
  [[maybe_unused]] const ssize_t written =
      ::write(g_remedy.fd, g_remedy.text.data(), g_remedy.size);
  ::tcsetattr(g_remedy.fd, TCSANOW, &g_remedy.modes);
  g_remedy.fd = -1;
}

void on_continue(int) { g_goes_on = true; }
void on_resize(int) { g_is_resized = true; }

void on_end(int signal) {
  if (cli::is_own_process()) put_right();
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // it is blocked until this handler returns
}

void add_to_remedy(const char* capability) {
  const char* text = ::tigetstr(capability);
  if (!text || text == reinterpret_cast<const char*>(-1)) return;
  // Stops at a delay ("$<5>"), which only printers need.
  for (; *text && *text != '$' && g_remedy.size < g_remedy.text.size(); ++text)
    g_remedy.text[g_remedy.size++] = *text;
}

// Adds the sequence only for terminals with a mouse: others could print it.
void add_mouse_to_remedy() {
  const char* const key = ::tigetstr("kmous");
  if (!key || key == reinterpret_cast<const char*>(-1)) return;
  for (const char letter : kMouseOff)
    if (g_remedy.size < g_remedy.text.size()) g_remedy.text[g_remedy.size++] = letter;
}

// Selects a UTF-8 locale for ncurses, because ctprof prints UTF-8 in every locale.
class Utf8 {
 public:
  explicit Utf8(locale_t locale) : before_(locale ? ::uselocale(locale) : nullptr) {}
  ~Utf8() {
    if (before_) ::uselocale(before_);
  }
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;

 private:
  locale_t before_;
};

std::wstring wide(std::string_view text) {
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

void write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return;  // the terminal is closed; the wait for keys detects it
    }
  }
}

// Collects in `memory` what is written to `output`, and sends it to the terminal in one piece when
// destroyed. ncurses (6.4) writes each cursor movement separately, about a hundred times per
// screen, and a terminal would show the parts. SIGTSTP is blocked meanwhile, because its handler
// would change the modes of `output`.
class AtOnce {
 public:
  AtOnce(int output, int terminal, int memory)
      : output_(output), terminal_(terminal), memory_(memory) {
    sigset_t stops;
    ::sigemptyset(&stops);
    ::sigaddset(&stops, SIGTSTP);
    ::sigprocmask(SIG_BLOCK, &stops, &before_);
    ::dup3(memory_, output_, O_CLOEXEC);
  }
  ~AtOnce() {
    ::dup3(terminal_, output_, O_CLOEXEC);
    std::string text(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_CUR)), '\0');
    const ssize_t got = ::pread(memory_, text.data(), text.size(), 0);
    ::lseek(memory_, 0, SEEK_SET);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    write_whole(terminal_, text);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;

 private:
  int output_, terminal_, memory_;
  sigset_t before_;
};

attr_t attribute(Look look) {
  switch (look) {
    case Look::Heading: return A_UNDERLINE;
    case Look::Chosen: return A_REVERSE;
    case Look::Faint: return A_DIM;
    case Look::Loud: return A_BOLD;
    case Look::Plain: break;
  }
  return A_NORMAL;
}

std::optional<Special> special_of(wint_t code) {
  switch (code) {
    case KEY_UP: return Special::Up;
    case KEY_DOWN: return Special::Down;
    case KEY_PPAGE: return Special::PageUp;
    case KEY_NPAGE: return Special::PageDown;
    case KEY_HOME: return Special::Home;
    case KEY_END: return Special::End;
    case KEY_LEFT: return Special::Left;
    case KEY_RIGHT: return Special::Right;
    case KEY_ENTER: return Special::Enter;
    case KEY_BACKSPACE: return Special::Backspace;
    default: return std::nullopt;
  }
}

// Mouse events that ncurses reports to this program.
constexpr mmask_t kMouseEvents = BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED;

// Returns none for unused events, such as the release of a button.
std::optional<MouseEvent> mouse_event() {
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
constexpr unsigned kMostCells = 32'767;

bool is_known_kind(const char* kind, int terminal) {
  int status = 0;
  return kind && ::setupterm(kind, terminal, &status) == OK;
}

// Returns why curses did not open the terminal: curses reports no reason.
Error why_not_opened(const char* kind, int terminal) {
  winsize size{};
  ::ioctl(terminal, TIOCGWINSZ, &size);
  if (size.ws_col > kMostCells || size.ws_row > kMostCells)
    return error("opening the terminal", kind ? kind : "(TERM is not set)",
                 "it has " + std::to_string(size.ws_col) + " columns and " +
                     std::to_string(size.ws_row) + " lines; make it smaller than " +
                     std::to_string(kMostCells + 1) + " of each");
  if (is_known_kind(kind, terminal))
    return error("opening the terminal", kind,
                 "not enough memory to draw on " + std::to_string(size.ws_col) + " columns and " +
                     std::to_string(size.ws_row) + " lines");
  return error("opening the terminal", kind ? kind : "(TERM is not set)",
               "unknown terminal type; set TERM to the type of your terminal, such as xterm");
}

}  // namespace

struct Terminal::Screen {
  locale_t locale = nullptr;
  std::FILE* input = nullptr;
  std::FILE* output = nullptr;
  sdk::Fd terminal, memory;  // where `output` leads, normally and during draw()
  ::SCREEN* screen = nullptr;
  struct sigaction continued {
  }, resized{};
  bool watches_size = false, uses_mouse = false;
  std::array<std::pair<int, struct sigaction>, 2> ends{{{SIGQUIT, {}}, {SIGHUP, {}}}};

  Screen() = default;
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    if (screen) {
      const Utf8 utf8(locale);
      cli::set_last_act(nullptr);
      ::endwin();
      g_remedy = {};
      ::sigaction(SIGCONT, &continued, nullptr);
      for (const auto& [signal, before] : ends) ::sigaction(signal, &before, nullptr);
      ::delscreen(screen);
    }
    if (watches_size) ::sigaction(SIGWINCH, &resized, nullptr);
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
    watches_size = ::sigaction(SIGWINCH, &action, &resized) == 0;
  }

  void take_size() const {
    winsize now{};
    if (::ioctl(terminal.get(), TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
      ::resize_term(now.ws_row, now.ws_col);
  }

  void handle_signals() {
    struct sigaction action {};
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = &on_continue;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCONT, &action, &continued);
    action.sa_handler = &on_end;
    for (auto& [signal, before] : ends) ::sigaction(signal, &action, &before);
    cli::set_last_act(&put_right);
  }
};

Terminal::Terminal(std::unique_ptr<Screen> screen) : screen_(std::move(screen)) {}
Terminal::Terminal(Terminal&&) noexcept = default;
Terminal::~Terminal() = default;

Result<Terminal> Terminal::open(int input, int output) {
  auto screen = std::make_unique<Screen>();
  screen->locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const Utf8 utf8(screen->locale);
  screen->input = ::fdopen(::fcntl(input, F_DUPFD_CLOEXEC, 0), "r");
  screen->output = ::fdopen(::fcntl(output, F_DUPFD_CLOEXEC, 0), "w");
  screen->terminal = sdk::Fd(::fcntl(output, F_DUPFD_CLOEXEC, 0));
  screen->memory = sdk::Fd(::memfd_create("ctprof-picture", MFD_CLOEXEC));
  if (!screen->input || !screen->output || !screen->terminal || !screen->memory)
    return errno_error("opening", "the terminal", errno);
  const char* kind = std::getenv("TERM");
  Remedy remedy;
  remedy.fd = screen->terminal.get();
  if (::tcgetattr(remedy.fd, &remedy.modes) != 0)
    return errno_error("asking for the modes of", "the terminal", errno);
  screen->watch_size();
  screen->screen = ::newterm(kind, screen->output, screen->input);
  if (!screen->screen) return why_not_opened(kind, remedy.fd);
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
  g_remedy = remedy;
  for (const char* capability : {"sgr0", "rmkx", "cnorm", "rmcup"}) add_to_remedy(capability);
  add_mouse_to_remedy();
  screen->handle_signals();
  return Terminal(std::move(screen));
}

Size Terminal::size() const {
  return {static_cast<std::size_t>(std::max(::getmaxy(stdscr), 0)),
          static_cast<std::size_t>(std::max(::getmaxx(stdscr), 0))};
}

void Terminal::draw(std::span<const Line> lines) {
  const Utf8 utf8(screen_->locale);
  ::werase(stdscr);
  const std::size_t most = size().lines;
  for (std::size_t at = 0; at < std::min(lines.size(), most); ++at) {
    if (lines[at].text.empty()) continue;
    const std::wstring text = wide(lines[at].text);
    ::wattrset(stdscr, static_cast<int>(attribute(lines[at].look)));
    ::wmove(stdscr, static_cast<int>(at), 0);
    ::waddnwstr(stdscr, text.c_str(), static_cast<int>(text.size()));
    if (lines[at].look == Look::Chosen)
      for (int column = ::getcurx(stdscr);
           column < ::getmaxx(stdscr) && ::getcury(stdscr) == static_cast<int>(at); ++column)
        ::waddch(stdscr, ' ');
  }
  ::wattrset(stdscr, A_NORMAL);
  const AtOnce at_once(::fileno(screen_->output), screen_->terminal.get(), screen_->memory.get());
  ::wrefresh(stdscr);
}

void Terminal::use_mouse(bool is_used) {
  if (screen_->uses_mouse == is_used) return;
  screen_->uses_mouse = is_used;
  ::mousemask(is_used ? kMouseEvents : 0, nullptr);
}

std::optional<Input> Terminal::input() {
  const Utf8 utf8(screen_->locale);
  const bool goes_on = g_goes_on.exchange(false), is_resized = g_is_resized.exchange(false);
  if (goes_on) ::reset_prog_mode();
  if (goes_on || is_resized) {
    screen_->take_size();
    forget();
    return live::key(Special::Resized);
  }
  wint_t code = 0;
  int what = ::wget_wch(stdscr, &code);
  for (; what == KEY_CODE_YES && code == KEY_MOUSE; what = ::wget_wch(stdscr, &code))
    if (const auto event = mouse_event()) return *event;
  if (what == ERR) return std::nullopt;
  if (what == KEY_CODE_YES) {
    const auto special = special_of(code);
    return special ? live::key(*special) : Key{0};
  }
  if (code == L'\r' || code == L'\n') return live::key(Special::Enter);
  if (code == 0x1b) return live::key(Special::Escape);
  if (code == 0x7f || code == 0x08) return live::key(Special::Backspace);
  return static_cast<Key>(code);
}

void Terminal::forget() { ::clearok(::curscr, TRUE); }

bool Terminal::is_gone() const {
  pollfd one{::fileno(screen_->input), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace ctprof::live
