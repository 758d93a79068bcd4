#include "command/cluster_completion.hpp"

#include "tools/cluster_names/cluster_names.hpp"

namespace berth::command {

command_line::Completer NamespaceCompleter(const std::string& kubeconfig, const std::string& context) {
  return [&kubeconfig, &context] {
    return cluster_names::Namespaces({kubeconfig, context}).value_or(std::vector<std::string>{});
  };
}

command_line::Completer PendingPodCompleter(const std::string& kubeconfig, const std::string& context,
                                            const std::string& ns) {
  return [&kubeconfig, &context, &ns] {
    std::vector<std::string> words;
    for (std::string& name :
         cluster_names::PendingPods({kubeconfig, context}, ns).value_or(std::vector<std::string>{}))
      words.push_back("pod/" + std::move(name));
    return words;
  };
}

}  // namespace berth::command
