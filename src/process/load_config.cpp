#include "process/load_config.hpp"

#include "base/files.hpp"
#include "scheduler/assembly/explainer.hpp"
#include "scheduler/extenders/http_transport.hpp"

namespace berth::process {

Expected<config::SchedulerConfig> ReadConfig(const std::string& text, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates, AdjustElection adjust) {
  return config::ParseSchedulerConfig(text, config::ParseOptions{.gates = gates,
                                                                 .codecs = &plugins.codecs(),
                                                                 .read_file = ReadWholeFile,
                                                                 .adjust_election = std::move(adjust)});
}

Expected<config::SchedulerConfig> LoadConfig(const std::string& path, const runtime::Registry& plugins,
                                             const config::FeatureGates& gates) {
  if (path.empty()) return config::DefaultSchedulerConfig(gates, &plugins.codecs());
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto config = ReadConfig(text, plugins, gates);
  if (!config) return std::unexpected(std::move(config).error().In(path));
  return config;
}

Expected<std::vector<std::string>> TryPlugins(const config::SchedulerConfig& config,
                                              const runtime::Registry& plugins,
                                              std::vector<std::string>& notes) {
  const assembly::ExtenderAccess silent{.make_transport = extenders::NoTransports("not called here")};
  BERTH_TRY(const auto built, assembly::Explainer::Create(config, plugins, notes, silent));
  return built->engine().handle().requested_resources;
}

}  // namespace berth::process
