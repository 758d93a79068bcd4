#include "tools/explain/pod_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/nearest.hpp"

namespace berth::explain {
namespace {

constexpr std::string_view kPodWords[] = {"pod", "pods", "po"};
// What a user of kubectl may write; these have pods, but are none.
constexpr std::string_view kOwners[] = {"deploy",     "deployment", "deployments", "rs",
                                        "replicaset", "sts",        "statefulset", "ds",
                                        "daemonset",  "job",        "jobs",        "cronjob"};

template <std::size_t kSize>
bool StartsWithAny(const std::string& text, const std::string_view (&words)[kSize]) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos &&
         std::ranges::find(words, std::string_view(text).substr(0, slash)) != std::end(words);
}

}  // namespace

bool NamesPod(const std::string& argument) {
  return StartsWithAny(argument, kPodWords) || StartsWithAny(argument, kOwners);
}

Expected<std::string> PodKey(const std::string& name, const std::string& ns) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos && !name.empty()) return ns + "/" + name;
  const std::string second = slash == std::string::npos ? "" : name.substr(slash + 1);
  if (slash == 0 || second.empty() || second.find('/') != std::string::npos)
    return Invalid(fmt::format("{}: expected pod/NAME, NAMESPACE/NAME or NAME", name));
  if (StartsWithAny(name, kPodWords)) return ns + "/" + second;
  if (StartsWithAny(name, kOwners)) {
    return Invalid(
        fmt::format("{}: expected a pod, got a {}; without a name all pending pods are explained, "
                    "grouped by owner",
                    name, name.substr(0, slash)));
  }
  return name;
}

std::string UnknownPod(const std::string& key, const std::vector<std::string>& keys) {
  const std::string name = key.substr(key.find('/') + 1);
  for (const std::string& other : keys) {
    if (other.substr(other.find('/') + 1) == name)
      return fmt::format("there is no pod {}; there is {} (-n {})", key, other,
                         other.substr(0, other.find('/')));
  }
  const std::string nearest = Nearest(key, keys);
  return nearest.empty() ? fmt::format("there is no pod {}", key)
                         : fmt::format("there is no pod {}; the nearest name is {}", key, nearest);
}

}  // namespace berth::explain
