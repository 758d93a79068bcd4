// Validation of qualified names (syntax of label keys), with one error per defect as in kube-scheduler.
#pragma once

#include <string>
#include <vector>

namespace berth::config {

// Appends "<path>: Invalid value: ..." texts. True if the name is valid.
bool CheckQualifiedName(const std::string& path, const std::string& name, std::vector<std::string>& errors);

}  // namespace berth::config
