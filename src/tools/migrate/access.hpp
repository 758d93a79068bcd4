// May somebody do what Berth needs to do?
#pragma once

#include <set>
#include <string>

#include "tools/migrate/permissions.hpp"
#include "tools/migrate/server.hpp"

namespace berth::migrate {

struct AccessQuestion {
  std::string user{};  // "system:kube-scheduler", "system:serviceaccount:kube-system:berth"
  Lease lease{};
  // Resources, as "plural.group", that the server does not have: nobody needs to be allowed to see them.
  std::set<std::string> absent{};
  std::string remedy{};  // how permissions are given
};

// Asks by SubjectAccessReviews, or SelfSubjectAccessReviews if the caller is that user: requests with the
// verb create that the API server answers and does not keep. Where the caller may not ask, the finding says
// so and how to ask otherwise.
Findings CheckAccess(Server& server, const AccessQuestion& question);

// Who the API server takes us for; empty if it does not say (before 1.28).
std::string WhoAmI(Server& server);

}  // namespace berth::migrate
