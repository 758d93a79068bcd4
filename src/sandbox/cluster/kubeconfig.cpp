#include "sandbox/cluster/kubeconfig.hpp"

#include <fmt/format.h>

#include "base/yaml.hpp"
#include "http/base64.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kCluster = "berth-sandbox";

std::string ContextOf(const Policy::KnownUser& known, bool first) {
  return first ? std::string(kCluster) : fmt::format("{}-{}", known.user.name, kCluster);
}

std::string Quoted(std::string_view text) { return json::serialize(json::value(text)); }  // JSON is YAML

std::string Credentials(const KubeconfigSource& source, const Policy::KnownUser& known) {
  std::string text;
  if (!known.token.empty()) text += fmt::format("    token: {}\n", Quoted(known.token));
  if (known.certificate && source.authority != nullptr) {
    if (const auto pair = source.authority->ForClient(known.user.name, known.user.groups)) {
      text += fmt::format("    client-certificate-data: {}\n    client-key-data: {}\n",
                          http::EncodeBase64(pair->certificate), http::EncodeBase64(pair->key));
    }
  }
  return text.empty() ? "  user: {}\n" : "  user:\n" + text;
}

}  // namespace

std::string WriteKubeconfig(const KubeconfigSource& source) {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: {0}\nclusters:\n- name: {0}\n  cluster:\n    server: "
      "{1}\n",
      kCluster, source.url);
  if (source.authority != nullptr)
    text += fmt::format("    certificate-authority-data: {}\n", http::EncodeBase64(source.authority->pem()));
  text += "users:\n";
  for (const auto& known : source.users)
    text += fmt::format("- name: {}\n{}", Quoted(known.user.name), Credentials(source, known));
  text += "contexts:\n";
  bool first = true;
  for (const auto& known : source.users) {
    text +=
        fmt::format("- name: {}\n  context:\n    cluster: {}\n    user: {}\n    namespace: default\n",
                    Quoted(ContextOf(known, std::exchange(first, false))), kCluster, Quoted(known.user.name));
  }
  return text;
}

std::vector<std::string> ForeignClusters(std::string_view kubeconfig) {
  if (kubeconfig.find_first_not_of(" \n") == std::string_view::npos) return {};
  const auto tree = yaml::ParseValue(kubeconfig);
  const yaml::Value* clusters = tree ? tree->Find("clusters") : nullptr;
  if (clusters == nullptr || clusters->items.empty()) return {"unreadable content"};
  std::vector<std::string> foreign;
  for (const yaml::Value& cluster : clusters->items) {
    const yaml::Value* name = cluster.Find("name");
    if (name == nullptr || name->text != kCluster) foreign.push_back(name == nullptr ? "" : name->text);
  }
  return foreign;
}

}  // namespace berth::sandbox
