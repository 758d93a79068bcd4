// The rules of pods and of templates of pods.
#pragma once

#include "sandbox/apiserver/validate/names.hpp"

namespace berth::sandbox {

// `path` is where the spec stands: "spec", "spec.template.spec".
void ValidatePodSpec(const json::object& spec, const std::string& path, Causes& causes);
bool IsTaintEffect(std::string_view effect);

}  // namespace berth::sandbox
