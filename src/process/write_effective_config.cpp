#include "process/write_effective_config.hpp"

#include "base/files.hpp"
#include "config/write_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/leader_election.hpp"
#include "observability/log/log.hpp"
#include "process/api_connections.hpp"
#include "process/load_config.hpp"
#include "process/loaded_plugins.hpp"
#include "service/secure_server.hpp"

namespace berth::process {

Expected<int> WriteEffectiveConfig(const SchedulerFlags& flags, const config::SchedulerConfig& config,
                                   const runtime::Registry& plugins, std::vector<std::string> notes) {
  const client::SystemEnvironment environment;
  const SystemClock clock;
  BERTH_RETURN_IF_ERROR(ConnectionOf(flags, config.client_connection, environment));
  BERTH_RETURN_IF_ERROR(service::SecureServer::Check(flags.serving, flags.authentication, flags.authorization,
                                                     environment, clock));
  if (config.leader_election.leader_elect)
    BERTH_RETURN_IF_ERROR(client::CheckLeaderLock(config.leader_election.resource_lock));
  BERTH_RETURN_IF_ERROR(TryPlugins(config, plugins, notes));
  for (const std::string& note : notes) log::Warning(note);
  const std::string text = config::WriteConfigYaml(config, plugins.codecs());
  BERTH_RETURN_IF_ERROR(WriteOutputFile(flags.write_config_to, text));
  if (const std::string note = config::NoteOnWrittenLimits(config); !note.empty()) log::Warning(note);
  log::Info("Wrote configuration", {{"file", flags.write_config_to}});
  return 0;
}

}  // namespace berth::process
