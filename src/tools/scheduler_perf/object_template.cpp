#include "tools/scheduler_perf/object_template.hpp"

#include <fmt/format.h>

namespace berth::scheduler_perf {

Expected<yaml::Value> ObjectTemplate::Object(std::size_t index, std::size_t count) const {
  if (constant != nullptr) return *constant;
  auto filled = text->Execute(parameters, static_cast<std::int64_t>(index), static_cast<std::int64_t>(count));
  if (!filled) return std::unexpected(std::move(filled).error().In(path));
  auto object = yaml::ParseValue(*filled);
  if (!object) return std::unexpected(std::move(object).error().In(path));
  if (object->kind != yaml::Value::Kind::kMap) return Invalid(fmt::format("{}: expected an object", path));
  return object;
}

Expected<ObjectTemplate> TemplateFiles::Load(const std::string& path) {
  if (const auto found = loaded_.find(path); found != loaded_.end()) return found->second;
  BERTH_TRY(const std::string text, read_(path));
  auto parsed = TextTemplate::Parse(text);
  if (!parsed) return std::unexpected(std::move(parsed).error().In(path));
  ObjectTemplate loaded{.path = path, .text = std::make_shared<const TextTemplate>(*std::move(parsed))};
  if (loaded.text->constant()) {
    BERTH_TRY(yaml::Value object, loaded.Object(0, 1));
    loaded.constant = std::make_shared<const yaml::Value>(std::move(object));
  }
  return loaded_.emplace(path, std::move(loaded)).first->second;
}

}  // namespace berth::scheduler_perf
