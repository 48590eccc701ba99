#include "weft/terminal.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <cstring>

namespace weft::cli {
namespace {

constexpr short kGood = 1, kWarn = 2, kBad = 3;
bool g_colour = false;  // ncurses is a single global thing, too

/// Characters are UTF-8 whatever the locale says: a terminal that shows less is told with --ascii.
void choose_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

attr_t attributes(const Look& look, short& pair) {
  attr_t a = A_NORMAL;
  pair = 0;
  switch (look.colour) {
    case Colour::none:
      break;
    case Colour::good:
      pair = kGood;
      break;
    case Colour::warn:
      pair = kWarn;
      if (!g_colour) a |= A_BOLD;
      break;
    case Colour::bad:
      pair = kBad;
      a |= A_BOLD;
      break;
    case Colour::dim:
      a |= A_DIM;
      break;
    case Colour::bold:
      a |= A_BOLD;
      break;
  }
  if (!g_colour) pair = 0;
  if (look.reverse) a |= A_REVERSE;
  return a;
}

std::optional<TopKey> named(wint_t code) {
  switch (code) {
    case KEY_UP:
      return TopKey::up;
    case KEY_DOWN:
      return TopKey::down;
    case KEY_LEFT:
      return TopKey::left;
    case KEY_RIGHT:
      return TopKey::right;
    case KEY_PPAGE:
      return TopKey::page_up;
    case KEY_NPAGE:
      return TopKey::page_down;
    case KEY_HOME:
      return TopKey::home;
    case KEY_END:
      return TopKey::end;
    case KEY_ENTER:
      return TopKey::enter;
    case KEY_BACKSPACE:
      return TopKey::backspace;
    case KEY_BTAB:
      return TopKey::back_tab;
    default:
      return std::nullopt;
  }
}
TopKey plain(wint_t c) {
  switch (c) {
    case '\n':
    case '\r':
      return TopKey::enter;
    case '\t':
      return TopKey::tab;
    case 27:
      return TopKey::escape;
    case 8:
    case 127:
      return TopKey::backspace;
    default:
      return TopKey::character;
  }
}

}  // namespace

Result<Terminal, std::string> Terminal::open(bool colour) {
  choose_locale();
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    const char* term = std::getenv("TERM");
    return bad("this terminal is of a type that is not known here (TERM=" + std::string(term ? term : "") +
               "); try: TERM=xterm-256color weft top");
  }
  Terminal t;
  g_colour = colour && has_colors();
  if (g_colour) {
    start_color();
    use_default_colors();
    init_pair(kGood, COLOR_GREEN, -1);
    init_pair(kWarn, COLOR_YELLOW, -1);
    init_pair(kBad, COLOR_RED, -1);
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  return t;
}

void Terminal::close() {
  if (!std::exchange(open_, false)) return;
  endwin();
}

std::size_t Terminal::columns() const { return static_cast<std::size_t>(std::max(0, getmaxx(stdscr))); }
std::size_t Terminal::rows() const { return static_cast<std::size_t>(std::max(0, getmaxy(stdscr))); }

void Terminal::show(const Screen& s) {
  werase(stdscr);
  const auto rows = std::min(s.rows(), this->rows()), columns = std::min(s.columns(), this->columns());
  for (std::size_t r = 0; r < rows; ++r) {
    wmove(stdscr, static_cast<int>(r), 0);
    for (std::size_t c = 0; c < columns;) {
      const Look look = s.at(r, c).look;
      std::string run;
      for (; c < columns && s.at(r, c).look == look; ++c) run += s.at(r, c).text;
      short pair = 0;
      const attr_t a = attributes(look, pair);
      wattr_set(stdscr, a, pair, nullptr);
      waddstr(stdscr, run.c_str());
    }
  }
  wattr_set(stdscr, A_NORMAL, 0, nullptr);
  wrefresh(stdscr);
}

std::optional<Terminal::Press> Terminal::read() {
  wint_t code = 0;
  const int kind = wget_wch(stdscr, &code);
  if (kind == ERR) return std::nullopt;
  if (kind == KEY_CODE_YES) {
    if (code == KEY_RESIZE) return Press{TopKey::character, 0, true};
    if (const auto key = named(code)) return Press{*key, 0, false};
    return Press{};
  }
  return Press{plain(code), static_cast<char32_t>(code), false};
}

}  // namespace weft::cli
