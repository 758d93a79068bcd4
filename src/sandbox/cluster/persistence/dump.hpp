// Exports the whole cluster as a file of plain Kubernetes objects.
#pragma once

#include <string>

#include "sandbox/store/store.hpp"

namespace berth::sandbox {

enum class DumpFormat { kYaml, kJson };

// One v1 List of all stored objects, including events: the format of `kubectl get ... -o yaml`. LoadObjects
// restores the same cluster from it.
std::string DumpObjects(const Store& store, DumpFormat format);

// A document in YAML's block style, each line indented by that many spaces.
std::string ToYaml(const json::value& value, int indent = 0);

}  // namespace berth::sandbox
