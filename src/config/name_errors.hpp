// Names that must be qualified like label keys, with one error for each mistake as kube-scheduler lists them.
#pragma once

#include <string>
#include <vector>

namespace berth::config {

// Appends "<path>: Invalid value: ..." texts. True if the name is right.
bool CheckQualifiedName(const std::string& path, const std::string& name, std::vector<std::string>& errors);

}  // namespace berth::config
