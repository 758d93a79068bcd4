#include "command/files.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace berth::command {

Expected<std::string> ReadWholeFile(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    std::string why = std::strerror(errno);
    why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    return Fail(ErrorCode::kNotFound, fmt::format("open {}: {}", path, why));
  }
  std::string text;
  char buffer[1 << 16];
  for (std::size_t read = 0; (read = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, read);
  const bool failed = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (failed) return Invalid(fmt::format("read {}: {}", path, std::strerror(errno)));
  return text;
}

}  // namespace berth::command
