// What kubectl asks before it asks for anything: versions, groups, resources, and just enough OpenAPI.
#pragma once

#include <optional>
#include <string>

#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

struct Answer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// Answers /api, /apis, /api/v1, /apis/<group>[/<version>], /version, /openapi/..., /healthz, /livez, /readyz;
// nothing if the path is none of these.
std::optional<Answer> AnswerDiscovery(const ApiRequest& request);

}  // namespace berth::sandbox
