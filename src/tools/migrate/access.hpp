// Checks whether a user has the permissions that Berth needs.
#pragma once

#include <set>
#include <string>

#include "tools/migrate/permissions.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

struct AccessCheckOptions {
  std::string user{};  // "system:kube-scheduler", "system:serviceaccount:kube-system:berth"
  Lease lease{};
  WatchedKinds watched{};
  // Resources, as "plural.group", that the server does not have: permissions for them are not needed.
  std::set<std::string> absent{};
  std::string remedy{};  // how to grant permissions
};

// Uses SubjectAccessReviews, or SelfSubjectAccessReviews if the caller is that user: requests with the verb
// create that the API server answers and does not store. If the caller may not create reviews, the finding
// contains another way to check.
Findings CheckAccess(Server& server, const AccessCheckOptions& options);

// The caller's user name according to the API server; empty if the server does not return it (before 1.28).
std::string CurrentUser(Server& server);

}  // namespace berth::migrate
