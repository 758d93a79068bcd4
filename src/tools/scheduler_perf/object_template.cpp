#include "tools/scheduler_perf/object_template.hpp"

#include <fmt/format.h>

namespace berth::scheduler_perf {

Expected<yaml::Value> ObjectTemplate::Object(std::size_t index, std::size_t count) const {
  auto filled = text->Execute(parameters, static_cast<std::int64_t>(index), static_cast<std::int64_t>(count));
  if (!filled) return std::unexpected(std::move(filled).error().In(path));
  auto object = yaml::ParseValue(*filled);
  if (!object) return std::unexpected(std::move(object).error().In(path));
  if (object->kind != yaml::Value::Kind::kMap) return Invalid(fmt::format("{}: expected an object", path));
  return object;
}

Expected<ObjectTemplate> TemplateFiles::Load(const std::string& path) {
  auto& loaded = loaded_[path];
  if (loaded == nullptr) {
    BERTH_TRY(const std::string text, read_(path));
    auto parsed = TextTemplate::Parse(text);
    if (!parsed) return std::unexpected(std::move(parsed).error().In(path));
    loaded = std::make_shared<const TextTemplate>(*std::move(parsed));
  }
  return ObjectTemplate{.path = path, .text = loaded};
}

}  // namespace berth::scheduler_perf
