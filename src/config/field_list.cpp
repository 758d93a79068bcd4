#include "config/field_list.hpp"

#include <algorithm>

#include "base/write_yaml.hpp"
#include "config/versions/version.hpp"
#include "config/write_config.hpp"

namespace berth::config {
namespace {

// Collects each field once, with the most specific type reported.
class Collector {
 public:
  void Attach(Problems& problems) {
    problems.Describe([this](const std::string& path, std::string_view type) {
      if (path == "kind" || path == "apiVersion") return;
      const auto known = std::ranges::find(fields_, path, &FieldFact::path);
      if (known == fields_.end()) {
        fields_.push_back({path, std::string(type), ""});
      } else if (known->type.empty()) {
        known->type = type;
      }
    });
  }
  std::vector<FieldFact> WithDefaults(const Value& defaults) {
    for (FieldFact& field : fields_) {
      const Value* value = At(defaults, field.path);
      const bool is_scalar = value != nullptr && value->kind != Value::Kind::kMap &&
                             value->kind != Value::Kind::kNull &&
                             !(value->kind == Value::Kind::kString && value->text.empty());
      if (is_scalar) field.default_json = yaml::ToJson(*value);
    }
    return std::move(fields_);
  }

 private:
  // For lists, uses the first item.
  static const Value* At(const Value& root, std::string_view path) {
    const Value* at = &root;
    while (at != nullptr && !path.empty()) {
      std::string_view name = path.substr(0, path.find('.'));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
      const bool item = name.ends_with("[]");
      if (item) name.remove_suffix(2);
      at = at->Find(name);
      if (at != nullptr && item) at = at->items.empty() ? nullptr : &at->items.front();
    }
    return at;
  }

  std::vector<FieldFact> fields_;
};

}  // namespace

std::vector<FieldFact> FieldsOfConfiguration() {
  Collector collector;
  Problems problems;
  collector.Attach(problems);
  Document document;
  (void)ReadConfiguration(Value::Map(), Version::kV1, {}, document, problems);
  const auto written = yaml::ParseValue(WriteConfigz(DefaultSchedulerConfig(), {}));
  return collector.WithDefaults(*written->Find("componentconfig"));
}

std::vector<FieldFact> FieldsOf(const ArgsCodec& codec) {
  Collector collector;
  Problems problems, ignored;
  collector.Attach(problems);
  (void)codec.complete(Value::Map(), FeatureGates(), problems);
  return collector.WithDefaults(codec.complete(Value::Map(), FeatureGates(), ignored));
}

}  // namespace berth::config
