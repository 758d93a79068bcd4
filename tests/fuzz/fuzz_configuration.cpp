// The scheduler's configuration file: what is accepted is usable, what is refused has a reason, twice the
// same.
#include "config/scheduler_config.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::fuzz::Require;
  const auto text = berth::fuzz::Text(data, size);
  (void)berth::config::ParseValue(text);
  const auto config = berth::config::ParseSchedulerConfig(text);
  const auto again = berth::config::ParseSchedulerConfig(text);
  Require(config.has_value() == again.has_value(), "the same text, the same verdict");
  if (!config) {
    Require(!config.error().message.empty(), "a refusal has a reason");
    Require(config.error().message == again.error().message, "and always the same");
    return 0;
  }
  Require(config->parallelism > 0, "validated");
  Require(config->pod_initial_backoff.count() > 0 && config->pod_max_backoff >= config->pod_initial_backoff,
          "validated");
  Require(!config->profiles.empty(), "there is a profile");
  for (const auto& profile : config->profiles) Require(!profile.scheduler_name.empty(), "with a name");
  return 0;
}
