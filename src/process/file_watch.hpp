// Waits for changes of a file.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace berth::process {

// Watches the directory of the file, so that a file that is replaced by rename is noticed, and so is the
// symbolic link "..data" that kubelet replaces in a volume of a ConfigMap. Without inotify (limits of the
// host), or if the link leads elsewhere, only the caller's time limits apply.
class FileWatch {
 public:
  // `path`: empty: no file is watched, and only Wake ends a wait.
  explicit FileWatch(const std::string& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Returns when the directory has changed, at the latest after `limit`, or after Wake; a call of Wake since
  // the last return counts. One thread.
  void Wait(Duration limit);
  // Returns when nothing in the directory has changed for `quiet`, or after Wake, at the latest after ten
  // times that.
  void WaitUntilQuiet(Duration quiet);
  // Any thread; also in a signal handler.
  void Wake();

 private:
  // Returns whether the directory has changed.
  bool Poll(Duration limit);

  int wake_ = -1;
  int changes_ = -1;  // -1: not watched
};

}  // namespace berth::process
