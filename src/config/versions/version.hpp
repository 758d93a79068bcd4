// The versions of the configuration file and their conversion. Private to the module.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/document.hpp"

namespace berth::config {

// Oldest first, so that "until v1beta2" is a comparison.
enum class Version { kV1Alpha1, kV1Alpha2, kV1Beta1, kV1Beta2, kV1Beta3, kV1 };

inline constexpr std::string_view kGroup = "kubescheduler.config.k8s.io";
inline constexpr std::string_view kKind = "KubeSchedulerConfiguration";
std::string ApiVersion(Version version);  // "kubescheduler.config.k8s.io/v1beta2"
std::optional<Version> VersionOf(std::string_view api_version);

// The file reader of the parse options.
using ReadFile = std::function<Expected<std::string>(const std::string& path)>;

// Reads a KubeSchedulerConfiguration in its version's schema. v1alpha1 was read leniently: unknown fields
// become notes.
Expected<void> ReadConfiguration(const Value& root, Version version, const ReadFile& read_file,
                                 Document& document, Problems& problems);

// Reads a Policy: the predicates and priorities of 1.22 and before become plugin sets of one profile.
bool IsPolicy(const Value& root);
Expected<void> ReadPolicy(const Value& root, Document& document, ProfileDocument& profile);

// Converts the document to v1: removed plugins are replaced by their successors, and former defaults that
// have changed are written explicitly.
void Upgrade(Version version, Document& document);

// successors.cpp: replaces removed plugins in one profile.
void ReplaceRemovedPlugins(Version version, ProfileDocument& profile, Document& document);

// scoring_strategy.cpp: the three plugins that NodeResourcesFit's scoring strategy replaced in v1beta2.
void ReplaceStrategyPlugins(Version version, ProfileDocument& profile, Document& document);

// node_label.cpp: replaces NodeLabel by an affinity that the profile adds to every pod.
void ReplaceNodeLabel(ProfileDocument& profile, Document& document);

}  // namespace berth::config
