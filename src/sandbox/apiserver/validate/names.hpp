// Names, and the texts of what is wrong with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

using Causes = std::vector<ErrorCause>;

// Lower case RFC 1123, as names of most objects must be.
bool IsDnsSubdomain(std::string_view name);
bool IsDnsLabel(std::string_view name);
// [prefix/]name, as labels, annotations and resources have them.
bool IsQualifiedName(std::string_view name);
bool IsLabelValue(std::string_view value);

std::string Quoted(std::string_view text);

void CheckSubdomain(const std::string& field, std::string_view name, Causes& causes);
void CheckLabel(const std::string& field, std::string_view name, Causes& causes);
void CheckQualifiedName(const std::string& field, std::string_view name, Causes& causes);
void CheckLabelValue(const std::string& field, std::string_view value, Causes& causes);
// Keys and values of labels, of node selectors and the like.
void CheckLabels(const std::string& field, const json::object* labels, Causes& causes);
// Keys of config maps and secrets.
void CheckConfigKeys(std::string_view field, const json::object* data, Causes& causes);

}  // namespace berth::sandbox
