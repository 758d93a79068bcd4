// /flagz and /statusz as apiserver v0.37 writes them.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace berth {
class Clock;
}

namespace berth::service {

class Endpoints;

struct StatusFacts {
  std::string binary_version;     // "1.37.1"
  std::string emulation_version;  // "1.37"
};

// /flagz tells every flag and its value; `flags` is asked once.
void AddFlagz(Endpoints& endpoints, const std::function<std::map<std::string, std::string>()>& flags);

// /statusz tells who we are, since when, and which paths are there: those that were added before. There is no
// version of Go to tell. `clock` outlives the endpoints.
void AddStatusz(Endpoints& endpoints, StatusFacts facts, const Clock& clock);

}  // namespace berth::service
