#include "scheduler/plugins/node_resources/shape.hpp"

#include <fmt/format.h>

namespace berth::plugins {

std::vector<ShapePoint> ReadShape(config::StructReader& reader, config::Problems& problems) {
  std::vector<ShapePoint> shape;
  reader.Each(
      "shape",
      [&](const config::Value& item, const std::string& path) {
        ShapePoint& point = shape.emplace_back();
        config::StructReader fields(item, "UtilizationShapePoint", path, problems);
        fields.Read("utilization", point.utilization, "int32");
        fields.Read("score", point.score, "int32");
        fields.Finish();
      },
      "v1.UtilizationShapePoint");
  return shape;
}

config::Value WriteShape(const std::vector<ShapePoint>& shape) {
  config::Value list = config::Value::List();
  for (const ShapePoint& point : shape) {
    config::Value& item = list.items.emplace_back(config::Value::Map());
    item.Set("utilization", config::Value::Number(point.utilization));
    item.Set("score", config::Value::Number(point.score));
  }
  return list;
}

void CheckShape(const std::vector<ShapePoint>& shape, const std::string& path,
                std::vector<std::string>& errors) {
  if (shape.empty()) {
    errors.push_back(path + ": Required value: at least one point must be specified");
    return;
  }
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i].utilization > shape[i - 1].utilization) continue;
    errors.push_back(
        fmt::format("{}[{}].utilization: Invalid value: {}: values must be sorted in increasing order", path,
                    i, shape[i].utilization));
    break;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].utilization < 0 || shape[i].utilization > 100) {
      errors.push_back(fmt::format("{}[{}].utilization: Invalid value: {}: not in valid range [0, 100]", path,
                                   i, shape[i].utilization));
    }
    if (shape[i].score < 0 || shape[i].score > 10) {
      errors.push_back(fmt::format("{}[{}].score: Invalid value: {}: not in valid range [0, 10]", path, i,
                                   shape[i].score));
    }
  }
}

std::int64_t OnShape(const std::vector<ShapePoint>& shape, std::int64_t utilization) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score;
    const ShapePoint& left = shape[i - 1];
    return left.score + (shape[i].score - left.score) * (utilization - left.utilization) /
                            (shape[i].utilization - left.utilization);
  }
  return shape.back().score;
}

}  // namespace berth::plugins
