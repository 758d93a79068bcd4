// Loads the documents of a YAML text by yaml-cpp where it differs from Kubernetes' parser (sigs.k8s.io/yaml);
// private to base/yaml.cpp. Both functions throw YAML::Exception for syntax errors that yaml-cpp finds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace YAML {
class Node;
}

namespace berth::yaml {

// The first document, a null node if there is none. What follows it is checked as far as Kubernetes' parser
// does.
Expected<YAML::Node> LoadFirstDocument(std::string_view text);

// All documents.
Expected<std::vector<YAML::Node>> LoadDocuments(const std::string& text);

}  // namespace berth::yaml
