// Validation of pods and pod templates.
#pragma once

#include "sandbox/apiserver/validate/names.hpp"

namespace berth::sandbox {

// `path` is the path of the spec: "spec", "spec.template.spec".
void ValidatePodSpec(const json::object& spec, const std::string& path, Causes& causes);
bool IsTaintEffect(std::string_view effect);

}  // namespace berth::sandbox
