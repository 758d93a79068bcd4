#include "command/load_config.hpp"

#include "assembly/explainer.hpp"
#include "assembly/in_tree_plugins.hpp"
#include "command/files.hpp"
#include "extender/http_transport.hpp"

namespace berth::command {

Expected<config::SchedulerConfig> ReadConfig(const std::string& text, const config::FeatureGates& gates,
                                             AdjustElection adjust) {
  const runtime::Registry registry = assembly::InTreePlugins();
  return config::ParseSchedulerConfig(text, config::ParseOptions{.gates = gates,
                                                                 .codecs = &registry.codecs(),
                                                                 .read_file = ReadWholeFile,
                                                                 .adjust_election = std::move(adjust)});
}

Expected<config::SchedulerConfig> LoadConfig(const std::string& path, const config::FeatureGates& gates) {
  if (path.empty()) {
    const runtime::Registry registry = assembly::InTreePlugins();
    return config::DefaultSchedulerConfig(gates, &registry.codecs());
  }
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto config = ReadConfig(text, gates);
  if (!config) return std::unexpected(std::move(config).error().In(path));
  return config;
}

Expected<void> TryPlugins(config::SchedulerConfig config, std::vector<std::string>& notes) {
  const assembly::ExtenderAccess silent{.make_transport = extender::NoTransports("not asked here")};
  BERTH_CHECKED(assembly::Explainer::Create(config, assembly::InTreePlugins(), notes, silent));
  return {};
}

}  // namespace berth::command
