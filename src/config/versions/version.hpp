// The versions of the configuration file, and what becomes of each. Private to the module.
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

// What the parse options say of the world.
using ReadFile = std::function<Expected<std::string>(const std::string& path)>;

// A KubeSchedulerConfiguration as its version wrote it. v1alpha1 was read leniently: unknown fields become
// notes.
Expected<void> ReadConfiguration(const Value& root, Version version, const ReadFile& read_file,
                                 Document& document, Problems& problems);

// Policy: the predicates and priorities of 1.22 and before become plugin sets of one profile.
bool IsPolicy(const Value& root);
Expected<void> ReadPolicy(const Value& root, Document& document, ProfileDocument& profile);

// What the file means in the terms of v1: plugins that went get their successors, and what was the default
// then and is not now is written out.
void Upgrade(Version version, Document& document);

// successors.cpp: plugins of old versions in one profile.
void ReplaceRemovedPlugins(Version version, ProfileDocument& profile, Document& document);

// scoring_strategy.cpp: the three plugins that NodeResourcesFit's scoring strategy replaced in v1beta2.
void ReplaceStrategyPlugins(Version version, ProfileDocument& profile, Document& document);

// node_label.cpp: NodeLabel as an affinity that the profile adds to every pod.
void ReplaceNodeLabel(ProfileDocument& profile, Document& document);

}  // namespace berth::config
