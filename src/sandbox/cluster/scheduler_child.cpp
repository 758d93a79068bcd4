#include "sandbox/cluster/scheduler_child.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <utility>

#include "base/files.hpp"

namespace berth::sandbox {

Expected<SchedulerChild> SchedulerChild::Start(const std::string& kubeconfig) {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth-sandbox-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot create {}", pattern));
  const std::filesystem::path folder(pattern);
  const std::string file = folder / "kubeconfig";
  BERTH_RETURN_IF_ERROR(WriteFileAtomically(file, kubeconfig, 0600));
  BERTH_TRY(ChildProcess child,
            ChildProcess::Start(
                {.arguments = {OwnExecutable(), "scheduler", "--kubeconfig", file, "--leader-elect=false",
                               "--secure-port", "0", "--berth-http-address", "127.0.0.1:0"},
                 .output = OutputToFile{folder / "scheduler.log"}}));
  return SchedulerChild(folder, std::move(child));
}

SchedulerChild::SchedulerChild(std::filesystem::path folder, ChildProcess child)
    : folder_(std::move(folder)), child_(std::move(child)) {}

SchedulerChild::~SchedulerChild() {
  if (folder_.empty() || child_.Ended()) return;
  child_.Stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool SchedulerChild::Ended() { return child_.Ended().has_value(); }

std::string SchedulerChild::EndText() {
  return fmt::format("the scheduler ended with {}; its log: {}", child_.Ended().value_or(ExitStatus{}).Text(),
                     log());
}

}  // namespace berth::sandbox
