#include "tools/migrate/permissions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "config/value.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/resources.hpp"

namespace berth::migrate {
namespace {

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> Texts(const config::Value& rule, std::string_view member) {
  std::vector<std::string> texts;
  if (const config::Value* list = rule.Find(member))
    for (const config::Value& item : list->items) texts.push_back(item.text);
  return texts;
}

// Appends the permissions that one rule of a role grants, each as text.
void Expand(const config::Value& rule, const std::string& ns, std::set<std::string>& out) {
  std::vector<std::string> names = Texts(rule, "resourceNames");
  if (names.empty()) names.emplace_back();
  for (const std::string& group : Texts(rule, "apiGroups")) {
    for (const std::string& resource : Texts(rule, "resources")) {
      for (const std::string& verb : Texts(rule, "verbs")) {
        for (const std::string& name : names)
          out.insert(
              Permission{.verb = verb, .group = group, .resource = resource, .ns = ns, .name = name}.Text());
      }
    }
  }
}

std::set<std::string> AllowedBy(const std::string& file) {
  std::set<std::string> allowed;
  const auto documents = api::SplitDocuments(Contents(std::string(BERTH_ROLES) + "/" + file));
  EXPECT_TRUE(documents) << file;
  for (const api::Document& document : documents->objects) {
    if (document.kind != "ClusterRole" && document.kind != "Role") continue;
    const auto role = yaml::ParseValue(document.json);
    const config::Value* ns = role->Find("metadata")->Find("namespace");
    for (const config::Value& rule : role->Find("rules")->items)
      Expand(rule, ns == nullptr ? "" : ns->text, allowed);
  }
  return allowed;
}

TEST(Permissions, MatchTheShippedRoles) {
  std::set<std::string> shipped = AllowedBy("cluster.yaml");
  shipped.merge(AllowedBy("kube-system.yaml"));
  std::set<std::string> needed;
  for (const Permission& permission : NeededPermissions({.name = "berth"})) needed.insert(permission.Text());
  EXPECT_EQ(needed, shipped);
  EXPECT_GT(needed.size(), 50U);
}

std::set<std::string> TextsOf(const std::vector<Permission>& permissions) {
  std::set<std::string> texts;
  for (const Permission& permission : permissions) texts.insert(permission.Text());
  return texts;
}

TEST(Permissions, WhatTheConfigurationReadsMatchesTheOptionalRoles) {
  WatchedKinds watched;
  std::vector<std::string> notes;
  const std::string gates[] = {
      "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"};
  watched.gates = config::FeatureGates::Parse(gates, notes).value();
  const auto request = [&](const client::Resource& resource) {
    if (resource.on_request) watched.requested.push_back(resource.QualifiedName());
  };
  std::ranges::for_each(client::kResources, request);
  std::ranges::for_each(client::kExternalResources, request);
  std::ranges::for_each(client::kOtherSources, request);
  std::set<std::string> expected = TextsOf(NeededPermissions({}));
  for (const char* role : {"gangs", "numa", "pod-groups", "priority-classes", "quotas"})
    expected.merge(AllowedBy(std::string(role) + ".yaml"));
  EXPECT_EQ(TextsOf(NeededPermissions({}, watched)), expected);
}

TEST(Permissions, OnlyWhatThePluginsReadIsNeeded) {
  const auto has = [](const std::vector<Permission>& permissions, std::string_view group) {
    return std::ranges::any_of(permissions,
                               [&](const Permission& permission) { return permission.group == group; });
  };
  const auto needed =
      NeededPermissions({}, {.gates = {}, .requested = {"elasticquotas.scheduling.x-k8s.io"}});
  EXPECT_TRUE(has(needed, "scheduling.x-k8s.io"));
  EXPECT_FALSE(has(needed, "topology.node.k8s.io"));
  EXPECT_FALSE(has(needed, "scheduling.k8s.io"));
}

TEST(Permissions, ShadowModeOnlyNeedsToWatch) {
  std::set<std::string> watched;
  for (const Permission& permission : NeededPermissions({.name = "berth"})) {
    const bool everywhere = permission.ns.empty() && permission.name.empty();
    if (everywhere && (permission.verb == "list" || permission.verb == "watch"))
      watched.insert(permission.Text());
  }
  EXPECT_EQ(watched, AllowedBy("../shadow/rbac.yaml"));
}

TEST(Permissions, NoLeaseIsNeededWithoutLeaderElection) {
  for (const Permission& permission : NeededPermissions({.wanted = false}))
    EXPECT_NE(permission.resource, "leases") << permission.Text();
}

TEST(Permissions, UseTheLeaseOfTheConfiguration) {
  const auto needed = NeededPermissions({.ns = "scheduling", .name = "second"});
  EXPECT_TRUE(std::ranges::any_of(needed, [](const Permission& permission) {
    return permission.Text() == "update leases.coordination.k8s.io scheduling/second";
  }));
}

}  // namespace
}  // namespace berth::migrate
