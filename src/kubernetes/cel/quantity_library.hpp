// Quantities in CEL expressions: values of type kubernetes.Quantity and the functions on them.
#pragma once

#include "cel/cel.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::cel {

const TypePtr& QuantityType();
Value QuantityValue(api::Quantity quantity);
void AddQuantityLibrary(FunctionRegistry& registry);

}  // namespace berth::cel
