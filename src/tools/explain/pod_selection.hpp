// The pods that a command line names.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace berth::explain {

// "pod/web", "pods/web", "po/web": an argument that names a pod, not a file. Also "deploy/web" and the like,
// which PodKey rejects with a better error than that of a missing file.
bool NamesPod(const std::string& argument);

// "namespace/name" of "pod/name", "namespace/name" or "name". `ns` is the namespace of names without
// one. An error for anything else, such as "deploy/web".
Expected<std::string> PodKey(const std::string& name, const std::string& ns);

// An error text for a pod that is not in the cluster: names the nearest one, in any namespace. `keys` are
// "namespace/name".
std::string UnknownPod(const std::string& key, const std::vector<std::string>& keys);

}  // namespace berth::explain
