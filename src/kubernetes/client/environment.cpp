#include "kubernetes/client/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace berth::client {
namespace {

Error SystemError(const std::string& path) {
  const int code = errno;
  std::string text = std::generic_category().message(code);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return {code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
          fmt::format("open {}: {}", path, text)};
}

}  // namespace

Expected<std::string> SystemEnvironment::ReadFile(const std::string& path) const {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(SystemError(path));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || (text.fail() && errno != 0)) return std::unexpected(SystemError(path));
  return std::move(text).str();
}

std::optional<std::string> SystemEnvironment::Variable(const std::string& name) const {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

Expected<ChildResult> SystemEnvironment::Run(const ChildOptions& program, const ChildLimits& limits,
                                             std::stop_token stop) const {
  BERTH_TRY(ChildProcess child, ChildProcess::Start(program));
  return child.Wait(limits, stop);
}

bool SystemEnvironment::StdinIsTerminal() const { return ::isatty(STDIN_FILENO) == 1; }

}  // namespace berth::client
