// Validation of names, with the texts of Kubernetes' errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/go_quote.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

using Causes = std::vector<ErrorCause>;

// Lower case RFC 1123, required for the names of most objects.
bool IsDnsSubdomain(std::string_view name);
bool IsDnsLabel(std::string_view name);
// [prefix/]name, the form of labels, annotations and resources.
bool IsQualifiedName(std::string_view name);
bool IsLabelValue(std::string_view value);

// `shown`: the text in the error; empty: the name.
void CheckSubdomain(const std::string& field, std::string_view name, Causes& causes,
                    std::string_view shown = {});
void CheckLabel(const std::string& field, std::string_view name, Causes& causes);
void CheckQualifiedName(const std::string& field, std::string_view name, Causes& causes);
void CheckLabelValue(const std::string& field, std::string_view value, Causes& causes);
// Keys and values of labels, node selectors and similar maps.
void CheckLabels(const std::string& field, const json::object* labels, Causes& causes);
// Keys of config maps and secrets.
void CheckConfigKeys(std::string_view field, const json::object* data, Causes& causes);

}  // namespace berth::sandbox
