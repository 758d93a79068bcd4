// Access policy: users with tokens or certificates, and rules. A simple stand-in for authentication and RBAC;
// without a policy every request is allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::sandbox {

struct User {
  std::string name;
  std::vector<std::string> groups;

  bool In(std::string_view group) const;
};

// The attributes of an access request: a verb on objects, or on a path without objects.
struct Attributes {
  std::string verb;   // get, list, watch, create, update, patch, delete, deletecollection; or the HTTP verb
  std::string group;  // of the API; empty: core
  std::string resource;  // "pods", "pods/binding"; empty: `path` is used
  std::string ns;
  std::string name;
  std::string path;
};

struct Decision {
  bool allowed = true;
  bool denied = false;  // by a rule
  std::string reason;
};

// Read from a file:
//
//   anonymous: false            # requests without credentials get 401; default true
//   users:
//   - name: alice
//     groups: [developers]
//     token: s3cret             # Authorization: Bearer s3cret
//     certificate: true         # a client certificate in the kubeconfig
//   rules:                      # the first match decides; without a match the request is allowed
//   - effect: deny              # or allow
//     users: [alice]            # an omitted list matches everything
//     groups: []
//     verbs: [delete, deletecollection]
//     apiGroups: [""]
//     resources: [pods]         # "pods/binding", "*"
//     namespaces: [kube-system]
//     names: []
//     paths: []                 # for requests without a resource
//
// Members of system:masters are always allowed.
class Policy {
 public:
  struct KnownUser {
    User user;
    std::string token;
    bool certificate = false;
  };

  // Errors state the problem and its position.
  static Expected<Policy> Parse(std::string_view yaml);

  const std::vector<KnownUser>& users() const { return users_; }
  bool anonymous() const { return anonymous_; }
  std::optional<User> ByToken(std::string_view token) const;
  Decision Decide(const User& user, const Attributes& attributes) const;

 private:
  struct Rule {
    bool deny = true;
    std::vector<std::string> users, groups, verbs, api_groups, resources, namespaces, names, paths;
    bool Matches(const User& user, const Attributes& attributes) const;
  };

  bool anonymous_ = true;
  std::vector<KnownUser> users_;
  std::vector<Rule> rules_;
};

}  // namespace berth::sandbox
