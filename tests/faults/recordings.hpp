// The recordings of the simulated schedulers (--berth-recording-dir), on a real file system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/recording/recorder.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tests/faults/disk_fault.hpp"
#include "tests/faults/machine.hpp"
#include "tests/faults/timeline.hpp"

namespace berth::faults {

// The recording of one process. It is written by the machine's other thread in place of
// recording::WritingThread, at the same times of virtual time. One thread.
class Recording {
 public:
  Recording(std::filesystem::path directory, const recording::RecorderLimits& limits, Machine& machine,
            std::function<DiskFault()> disk_fault);

  recording::Recorder& recorder() { return *recorder_; }
  // After Recorder::Start.
  void StartWriting();
  // At the orderly end of the process, which waits for a slow disk: nothing is appended any more.
  void Complete();
  bool complete() const { return complete_; }

 private:
  void WriteLater(Duration delay);
  void Write();

  Machine& machine_;
  const std::function<DiskFault()> disk_fault_;
  const std::unique_ptr<recording::Recorder> recorder_;
  std::uint64_t write_number_ = 0;  // of the planned write: earlier ones are void
  bool much_is_waiting_ = false;
  bool complete_ = false;
};

// All recordings of a run.
class Recordings {
 public:
  // The seed decides on the limits of the recordings: enough for everything, a size at which old files are
  // removed, or so little memory that lines are lost. `kept` is a new directory, with one for each process;
  // if it is empty, they are in a temporary directory that exists during the lifetime of this object.
  Recordings(std::uint64_t seed, Timeline& timeline, const std::filesystem::path& kept);
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // For one process; must not outlive this object.
  std::unique_ptr<Recording> Open(const std::string& process, Machine& machine,
                                  std::function<DiskFault()> disk_fault);
  // The process has ended after so many attempts. `complete`: everything was written.
  void OnEnd(const std::string& process, std::uint64_t attempts, bool complete);
  // The process was killed. In half of the cases its machine lost power, too: the end of the last file is
  // missing.
  void OnKill(const std::string& process);

  struct Report {
    std::vector<std::string> violations;  // empty: every recording repeats
    std::map<std::string, std::uint64_t> counts;
  };
  // Repeats every recording, after the end of all processes: the decisions are the recorded ones, parts are
  // skipped only where lines are missing for want of memory, and nothing else is missing unless a full disk,
  // the end of the process or a loss of power explains it.
  Report RepeatAll(const runtime::Registry& plugins) const;

 private:
  enum class Limits : std::uint8_t { kAmple, kSmallDisk, kLittleMemory };
  struct Process {
    std::filesystem::path directory;
    std::uint64_t attempts = 0;
    bool complete = false;
    bool cut = false;
    bool disk_was_full = false;
  };
  void RepeatOne(const std::string& name, const Process& process, const runtime::Registry& plugins,
                 Report& report) const;

  Timeline& timeline_;
  Random random_;
  const bool is_temporary_;
  const std::filesystem::path directory_;
  Limits limits_{};
  recording::RecorderLimits recorder_limits_;
  std::map<std::string, Process> processes_;  // by identity
};

// The temporary directories that a process left behind when it ended by a signal.
void RemoveRecordingsOf(pid_t process);

}  // namespace berth::faults
