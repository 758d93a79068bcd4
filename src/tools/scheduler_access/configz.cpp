#include "tools/scheduler_access/configz.hpp"

#include "base/yaml.hpp"

namespace berth::scheduler_access {

Expected<std::string> ReadConfigz(SchedulerConnection& scheduler) {
  BERTH_TRY(const std::string body, scheduler.Get("/configz"));
  BERTH_TRY(const yaml::Value tree, yaml::ParseValue(body));
  const yaml::Value* config = tree.Find("componentconfig");
  if (config == nullptr) return Invalid("/configz of " + scheduler.where() + " has no componentconfig");
  std::string text;
  yaml::AppendJson(text, *config);
  return text;
}

}  // namespace berth::scheduler_access
