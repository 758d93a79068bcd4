#include "tools/explain/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace berth::explain {

Terminal StandardOutput(const client::Environment& environment) {
  if (isatty(STDOUT_FILENO) == 0) return {};
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const bool plain = !environment.Variable("NO_COLOR").value_or("").empty() ||
                     environment.Variable("TERM").value_or("") == "dumb";
  return {.colour = !plain, .width = known ? size.ws_col : kUsual};
}

}  // namespace berth::explain
