#include "tools/explain/running_config.hpp"

#include <fmt/format.h>

#include "tools/migrate/running_scheduler.hpp"
#include "tools/scheduler_access/leader.hpp"

namespace berth::explain {

Expected<RunningConfig> FindRunningConfig(migrate::Server& server) {
  BERTH_TRY(const scheduler_access::LeaderPod leader, scheduler_access::FindLeader(server, ""));
  RunningConfig found{.text = "",
                      .feature_gates = migrate::FlagIn(leader.program.args, "feature-gates").value_or(""),
                      .source = "the defaults of " + leader.Text()};
  const std::string path = migrate::FlagIn(leader.program.args, "config").value_or("");
  if (path.empty()) return found;
  const auto file = leader.program.Find(path);
  if (!file || file->config_map.empty()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{} of {} is {}", path, leader.Text(),
                            file ? "the file " + file->host_path + " on its node" : "in no ConfigMap"));
  }
  BERTH_TRY(found.text, migrate::ReadFromConfigMap(server, leader.ns, *file));
  found.source = fmt::format("ConfigMap {}/{} of {}", leader.ns, file->config_map, leader.Text());
  return found;
}

}  // namespace berth::explain
