#include "tests/faults/recordings.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "tools/replay/repetition.hpp"
#include "tools/replay/steps.hpp"

namespace berth::faults {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kSlowDiskDelay{50};  // before the next look at a slow disk
constexpr std::uint64_t kMaxCut = 300;      // bytes

std::string DirectoryPrefix(pid_t process) { return fmt::format("berth-faults-{}-", process); }

fs::path MakeTemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / DirectoryPrefix(::getpid())).string() + "XXXXXX";
  BERTH_CHECK(::mkdtemp(name.data()) != nullptr, name);
  return name;
}

std::unique_ptr<recording::Recorder> NewRecorder(const fs::path& directory,
                                                 const recording::RecorderLimits& limits, Machine& machine) {
  auto recorder = recording::Recorder::Create(directory, limits, machine.clock());
  BERTH_CHECK(recorder.has_value(), recorder.error().message);
  return std::move(*recorder);
}

bool TellsOfMissingLines(std::string_view why) { return why.contains("lines are missing"); }

// While this exists, a write behind the first bytes of any file fails as on a full disk, also of a log.
class FullDisk {
 public:
  FullDisk() {
    BERTH_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before_;
    small.rlim_cur = 2'000;
    BERTH_CHECK(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~FullDisk() {
    BERTH_CHECK(::setrlimit(RLIMIT_FSIZE, &before_) == 0);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace

// --- one process ---

Recording::Recording(fs::path directory, const recording::RecorderLimits& limits, Machine& machine,
                     std::function<DiskFault()> disk_fault)
    : machine_(machine),
      disk_fault_(std::move(disk_fault)),
      recorder_(NewRecorder(directory, limits, machine)) {}

void Recording::StartWriting() {
  recorder_->OnMuchWaiting([this] {
    if (!std::exchange(much_is_waiting_, true)) WriteLater({});
  });
  WriteLater(recorder_->limits().longest_wait);
}

void Recording::Complete() {
  Write();
  complete_ = true;
}

void Recording::WriteLater(Duration delay) {
  machine_.RunOnOtherThread(delay, [this, number = ++write_number_] {
    if (number != write_number_) return;
    if (disk_fault_() == DiskFault::kSlow) return WriteLater(kSlowDiskDelay);
    Write();
    WriteLater(recorder_->limits().longest_wait);
  });
}

void Recording::Write() {
  much_is_waiting_ = false;
  if (disk_fault_() != DiskFault::kFull) return recorder_->WriteWaiting();
  const FullDisk full;
  recorder_->WriteWaiting();
}

// --- all processes ---

Recordings::Recordings(std::uint64_t seed, Timeline& timeline, const fs::path& kept)
    : timeline_(timeline),
      random_(seed),
      is_temporary_(kept.empty()),
      directory_(is_temporary_ ? MakeTemporaryDirectory() : kept) {
  recorder_limits_.full_file = 1'000 << random_.Below(6);
  limits_ = static_cast<Limits>(random_.Below(4) % 3);  // half of the seeds have ample limits
  if (limits_ == Limits::kSmallDisk) recorder_limits_.total = 40'000;
  if (limits_ == Limits::kLittleMemory) recorder_limits_.waiting_bytes = 12'000;  // more than the header
}

Recordings::~Recordings() {
  if (!is_temporary_) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::unique_ptr<Recording> Recordings::Open(const std::string& process, Machine& machine,
                                            std::function<DiskFault()> disk_fault) {
  const fs::path directory = directory_ / process;
  const auto [opened, is_new] = processes_.emplace(process, Process{.directory = directory});
  BERTH_CHECK(is_new, process);
  return std::make_unique<Recording>(
      directory, recorder_limits_, machine,
      [this, name = process, &recorded = opened->second, disk_fault = std::move(disk_fault)] {
        const DiskFault fault = disk_fault();
        if (fault == DiskFault::kFull && !std::exchange(recorded.disk_was_full, true))
          timeline_.Add(name, "finds its disk full");
        return fault;
      });
}

void Recordings::OnEnd(const std::string& process, std::uint64_t attempts, bool complete) {
  Process& ended = processes_.at(process);
  ended.attempts = attempts;
  ended.complete = complete;
}

void Recordings::OnKill(const std::string& process) {
  if (random_.Below(2) == 0) return;
  Process& cut = processes_.at(process);
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(cut.directory)) files.push_back(file.path());
  if (files.empty()) return;
  const fs::path& last = *std::ranges::max_element(files);
  const std::uint64_t size = fs::file_size(last);
  const std::uint64_t missing = std::min(random_.Below(kMaxCut), size);
  fs::resize_file(last, size - missing);
  cut.cut = missing > 0;
  timeline_.Add(process, "the last {} bytes of its recording are lost", missing);
}

Recordings::Report Recordings::RepeatAll(const runtime::Registry& plugins) const {
  Report report;
  for (const auto& [name, process] : processes_) RepeatOne(name, process, plugins, report);
  return report;
}

void Recordings::RepeatOne(const std::string& name, const Process& process, const runtime::Registry& plugins,
                           Report& report) const {
  const auto violated = [&](std::string_view what) {
    report.violations.push_back(fmt::format("a recording repeats: {}: {}", name, what));
  };
  const bool may_lack_lines = limits_ == Limits::kLittleMemory;
  const bool ends_with_process = process.complete && !process.cut && !process.disk_was_full;
  auto steps = replay::Steps::Open(process.directory);
  // The end of the process can be before the first write.
  if (!steps) {
    if (ends_with_process) violated(steps.error().message);
    return;
  }
  const auto repetition = replay::Repeat(*steps, plugins, [](const auto&) {});
  if (!repetition) return violated(repetition.error().message);
  ++report.counts["recordings repeated"];
  report.counts["attempts repeated"] += repetition->attempts;
  report.counts["parts of recordings skipped"] += repetition->skipped.size();
  if (repetition->difference) {
    violated(fmt::format("line {}: {}: recorded {}, repeated {}", repetition->difference->line,
                         repetition->difference->what, repetition->difference->recorded,
                         repetition->difference->repeated));
  }
  if (repetition->deviations > 0) violated(fmt::format("{} readings differ", repetition->deviations));
  for (const std::string& why : repetition->skipped) {
    if (!may_lack_lines || !TellsOfMissingLines(why)) violated("a part is skipped: " + why);
  }
  const bool may_end_early = process.cut || (may_lack_lines && TellsOfMissingLines(repetition->ended_by));
  if (!repetition->ended_by.empty() && !may_end_early) violated("it ends early: " + repetition->ended_by);
  if (ends_with_process && repetition->steps == 0) violated("it has no steps");
  if (ends_with_process && limits_ == Limits::kAmple && repetition->attempts != process.attempts)
    violated(fmt::format("{} of {} attempts", repetition->attempts, process.attempts));
}

void RemoveRecordingsOf(pid_t process) {
  const std::string prefix = DirectoryPrefix(process);
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    if (each.path().filename().string().starts_with(prefix)) fs::remove_all(each.path(), ignored);
  }
}

}  // namespace berth::faults
