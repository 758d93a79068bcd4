#include "tools/simulate/named_configs.hpp"

#include <fmt/format.h>

#include "process/load_config.hpp"
#include "tools/simulate/report.hpp"

namespace berth::simulate {

Expected<std::vector<NamedConfig>> LoadConfigs(const std::vector<std::string>& files,
                                               const runtime::Registry& plugins,
                                               const config::FeatureGates& gates) {
  std::vector<NamedConfig> configs;
  std::vector<std::string> names = ConfigNames(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& file = files[i];
    BERTH_TRY(config::SchedulerConfig config, process::LoadConfig(file, plugins, gates));
    if (!config.extenders.empty())
      return Invalid(fmt::format("{}: extenders: not simulated; remove them from the file", file));
    configs.push_back({std::move(names[i]), std::move(config)});
  }
  return configs;
}

}  // namespace berth::simulate
