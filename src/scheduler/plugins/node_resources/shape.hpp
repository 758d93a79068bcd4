// A score as a piecewise linear function of utilization, called shape in the arguments.
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

// Reads the field "shape" of the arguments.
std::vector<ShapePoint> ReadShape(config::StructReader& reader, config::Problems& problems);

config::Value WriteShape(const std::vector<ShapePoint>& shape);

// Appends validation errors with kube-scheduler's texts.
void CheckShape(const std::vector<ShapePoint>& shape, const std::string& path,
                std::vector<std::string>& errors);

// The function's value; constant beyond the first and last point.
std::int64_t OnShape(const std::vector<ShapePoint>& shape, std::int64_t utilization);

}  // namespace berth::plugins
