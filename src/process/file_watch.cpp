#include "process/file_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/check.hpp"
#include "base/files.hpp"
#include "observability/log/log.hpp"

namespace berth::process {

FileWatch::FileWatch(const std::string& path) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  BERTH_CHECK(wake_ >= 0, errno);
  if (path.empty()) return;
  const std::string folder = FolderOf(path);
  changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  constexpr std::uint32_t kChanges =
      IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;
  if (changes_ >= 0 && inotify_add_watch(changes_, folder.empty() ? "." : folder.c_str(), kChanges) >= 0)
    return;
  log::Warning("Cannot be notified of changes of the configuration; the file is read regularly",
               {{"file", path}, {"err", std::strerror(errno)}});
  if (changes_ >= 0) close(changes_);
  changes_ = -1;
}

FileWatch::~FileWatch() {
  close(wake_);
  if (changes_ >= 0) close(changes_);
}

void FileWatch::Wait(Duration limit) { Poll(limit); }

void FileWatch::WaitUntilQuiet(Duration quiet) {
  for (int i = 0; i < 10 && Poll(quiet); ++i) {
  }
}

void FileWatch::Wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));  // fails only if wakes are waiting already
}

bool FileWatch::Poll(Duration limit) {
  std::array<pollfd, 2> files{{{wake_, POLLIN, 0}, {changes_, POLLIN, 0}}};  // a negative file is ignored
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  if (poll(files.data(), files.size(), static_cast<int>(milliseconds)) <= 0) return false;
  if ((files[0].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    static_cast<void>(!read(wake_, &count, sizeof count));
    return false;
  }
  // What has changed does not matter: the caller compares the content of the file.
  alignas(inotify_event) std::array<char, 4096> events;
  while (read(changes_, events.data(), events.size()) > 0) {
  }
  return true;
}

}  // namespace berth::process
