#include "process/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace berth::process {
namespace {

bool WriteAll(int file, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Expected<void> WriteFileAtomically(const std::string& path, std::string_view content, unsigned permissions) {
  // In the same directory: a rename is atomic only within one file system.
  const std::string draft = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto fail = [&](std::string_view what) {
    std::string why = std::strerror(errno);
    why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    ::unlink(draft.c_str());
    return Fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, path, why));
  };
  ::unlink(draft.c_str());
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
  if (file < 0) return fail("open");
  const bool written = WriteAll(file, content) && ::fchmod(file, permissions) == 0;
  if (::close(file) != 0 || !written) return fail("write");
  if (std::rename(draft.c_str(), path.c_str()) != 0) return fail("rename");
  return {};
}

}  // namespace berth::process
