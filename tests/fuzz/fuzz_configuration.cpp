// The scheduler's configuration file, in every version and as a Policy: an accepted file is usable and can be
// written as v1 and read again; a rejected one has an error that is the same every time.
#include <array>

#include "config/scheduler_config.hpp"
#include "config/write_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using berth::fuzz::Require;

// A first character from '1' on selects the header of a version, so that mutations affect the rest.
std::string WithHead(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kVersions{"v1",      "v1beta3",  "v1beta2",
                                                             "v1beta1", "v1alpha2", "v1alpha1"};
  const std::size_t version = text.empty() ? kVersions.size() : static_cast<std::size_t>(text.front() - '1');
  if (version >= kVersions.size()) return std::string(text);
  return "apiVersion: kubescheduler.config.k8s.io/" + std::string(kVersions[version]) +
         "\nkind: KubeSchedulerConfiguration\n" + std::string(text.substr(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const berth::runtime::Registry registry = berth::assembly::InTreePlugins();
  berth::config::ParseOptions options;
  options.codecs = &registry.codecs();
  options.read_file = [](const std::string&) -> berth::Expected<std::string> {
    return R"({"predicates":[{"name":"HostName"}]})";
  };
  const std::string text = WithHead(berth::fuzz::Text(data, size));
  (void)berth::yaml::ParseValue(text);
  (void)berth::config::ParseSchedulerConfig(text);  // without plugin arguments
  const auto config = berth::config::ParseSchedulerConfig(text, options);
  const auto again = berth::config::ParseSchedulerConfig(text, options);
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
  const std::string written = berth::config::WriteConfigYaml(*config, registry.codecs());
  const auto converted = berth::config::ParseSchedulerConfig(written, options);
  Require(converted.has_value(), "what is written can be read");
  Require(converted->profiles.size() == config->profiles.size(), "with all profiles");
  Require(converted->extenders.size() == config->extenders.size(), "and all extenders");
  return 0;
}
