// A score as a broken line over utilization: what the arguments call a shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/value.hpp"

namespace berth::plugins {

struct ShapePoint {
  std::int64_t utilization = 0;  // percent
  std::int64_t score = 0;        // 0 to 10 in arguments
};

// Reads the member "shape" of the arguments.
std::vector<ShapePoint> ReadShape(config::StructReader& reader, config::Problems& problems);

config::Value WriteShape(const std::vector<ShapePoint>& shape);

// Appends what is wrong with the points, in kube-scheduler's words.
void CheckShape(const std::vector<ShapePoint>& shape, const std::string& path,
                std::vector<std::string>& errors);

// The score on the line, flat beyond its ends.
std::int64_t OnShape(const std::vector<ShapePoint>& shape, std::int64_t utilization);

}  // namespace berth::plugins
