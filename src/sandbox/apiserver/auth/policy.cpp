#include "sandbox/apiserver/auth/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/invisible_characters.hpp"
#include "config/value.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kMasters = "system:masters";

bool Matches(const std::vector<std::string>& wanted, std::string_view value) {
  if (wanted.empty()) return true;
  return std::ranges::any_of(wanted, [&](const std::string& entry) {
    if (entry == "*" || entry == value) return true;
    return entry.ends_with("*") && value.starts_with(std::string_view(entry).substr(0, entry.size() - 1));
  });
}

}  // namespace

bool User::In(std::string_view group) const { return std::ranges::find(groups, group) != groups.end(); }

Expected<Policy> Policy::Parse(std::string_view yaml) {
  BERTH_TRY(const config::Value root, yaml::ParseValue(yaml));
  if (root.kind != config::Value::Kind::kMap) return Invalid("a policy is a map");
  Policy policy;
  config::Problems problems;
  config::StructReader reader(root, "Policy", "", problems);
  reader.Read("anonymous", policy.anonymous_);
  reader.Each("users", [&](const config::Value& value, const std::string& path) {
    KnownUser known;
    config::StructReader user(value, "User", path, problems);
    user.Read("name", known.user.name);
    user.Read("groups", known.user.groups);
    user.Read("token", known.token);
    user.Read("certificate", known.certificate);
    user.Finish();
    if (known.user.name.empty()) problems.Other(fmt::format("{}.name: required", path));
    policy.users_.push_back(std::move(known));
  });
  reader.Each("rules", [&](const config::Value& value, const std::string& path) {
    Rule rule;
    std::string effect;
    config::StructReader fields(value, "Rule", path, problems);
    fields.Read("effect", effect);
    fields.Read("users", rule.users);
    fields.Read("groups", rule.groups);
    fields.Read("verbs", rule.verbs);
    fields.Read("apiGroups", rule.api_groups);
    fields.Read("resources", rule.resources);
    fields.Read("namespaces", rule.namespaces);
    fields.Read("names", rule.names);
    fields.Read("paths", rule.paths);
    fields.Finish();
    if (effect != "deny" && effect != "allow")
      problems.Other(fmt::format("{}.effect: \"{}\" is neither \"deny\" nor \"allow\"", path, effect));
    rule.deny = effect == "deny";
    policy.rules_.push_back(std::move(rule));
  });
  reader.Finish();
  if (!problems.empty()) return WithInvisibleCharacter<Policy>(Invalid(problems.Text()), yaml);
  return policy;
}

std::optional<User> Policy::ByToken(std::string_view token) const {
  for (const auto& known : users_) {
    if (!known.token.empty() && known.token == token) {
      User user = known.user;
      user.groups.emplace_back("system:authenticated");
      return user;
    }
  }
  return std::nullopt;
}

bool Policy::Rule::Matches(const User& user, const Attributes& wanted) const {
  const bool any_user = users.empty() && groups.empty();
  const bool by_name = !users.empty() && sandbox::Matches(users, user.name);
  const bool by_group = !groups.empty() && std::ranges::any_of(user.groups, [&](const auto& group) {
    return sandbox::Matches(groups, group);
  });
  if (!any_user && !by_name && !by_group) return false;
  if (!sandbox::Matches(verbs, wanted.verb)) return false;
  if (wanted.resource.empty()) {
    const bool about_objects =
        !resources.empty() || !namespaces.empty() || !names.empty() || !api_groups.empty();
    return !about_objects && sandbox::Matches(paths, wanted.path);
  }
  return paths.empty() && sandbox::Matches(api_groups, wanted.group) &&
         sandbox::Matches(resources, wanted.resource) && sandbox::Matches(namespaces, wanted.ns) &&
         sandbox::Matches(names, wanted.name);
}

Decision Policy::Decide(const User& user, const Attributes& attributes) const {
  if (user.In(kMasters)) return {};
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].Matches(user, attributes)) continue;
    const bool deny = rules_[i].deny;
    return {!deny, deny, fmt::format("rules[{}] of the policy: {}", i, deny ? "deny" : "allow")};
  }
  return {};
}

}  // namespace berth::sandbox
