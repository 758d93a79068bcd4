#include "assembly/engine.hpp"

#include <algorithm>

namespace berth::assembly {

Expected<std::unique_ptr<Engine>> Engine::Build(const config::SchedulerConfig& config,
                                                const runtime::Registry& registry, framework::ApiWriter& api,
                                                std::vector<std::string>& notes) {
  std::unique_ptr<Engine> engine(new Engine(api));
  notes.insert(notes.end(), config.notes.begin(), config.notes.end());
  for (const config::Profile& profile : config.profiles) {
    BERTH_TRY(engine->profiles_.emplace_back(),
              runtime::Profile::Build(profile, registry, engine->handle_, notes));
  }
  return engine;
}

const runtime::Profile* Engine::FindProfile(std::string_view scheduler_name) const {
  const auto found = std::ranges::find(profiles_, scheduler_name,
                                       [](const auto& profile) { return std::string_view(profile->name()); });
  return found == profiles_.end() ? nullptr : found->get();
}

}  // namespace berth::assembly
