#include "service/auth/trust.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "http/loop.hpp"
#include "kubernetes/client/environment.hpp"
#include "observability/log/log.hpp"

namespace berth::service {
namespace {

constexpr std::chrono::seconds kPoll{1};

// A JSON list of strings, or an empty value.
Expected<std::vector<std::string>> ParseList(const ConfigMapData& data, const std::string& key) {
  std::vector<std::string> list;
  const auto found = data.find(key);
  if (found == data.end() || found->second.empty()) return list;
  boost::system::error_code error;
  const auto value = boost::json::parse(found->second, error);
  if (error || !(value.is_array() || value.is_null()))
    return Invalid(key + ": expected a JSON list of strings");
  if (value.is_null()) return list;
  for (const auto& item : value.get_array()) {
    if (!item.is_string()) return Invalid(key + ": expected a JSON list of strings");
    list.emplace_back(std::string_view(item.get_string()));
  }
  return list;
}

constexpr const char* kClients = "client-ca-bundle";
constexpr const char* kProxies = "request-header";

using Pool = std::shared_ptr<const http::AuthorityPool>;

// Returns `known` if the content is unchanged.
Expected<Pool> ReadAuthorities(const client::Environment& environment, const std::string& file,
                               std::string_view purpose, const Pool& known) {
  const auto failed = [&](Error error) {
    return std::unexpected(
        std::move(error).In(purpose == kClients ? "unable to load client CA provider"
                                                : "unable to create request header authentication config"));
  };
  auto text = environment.ReadFile(file);
  if (!text) return failed(std::move(text).error());
  if (text->empty()) {
    return failed(
        {ErrorCode::kInvalid, fmt::format("missing content for CA bundle \"{}::{}\"", purpose, file)});
  }
  if (known && known->pem() == *text) return known;
  auto parsed = http::AuthorityPool::Parse(*text);
  if (parsed) return std::move(*parsed);
  return failed({ErrorCode::kInvalid, fmt::format("error loading CA bundle for \"{}::{}\": {}", purpose, file,
                                                  parsed.error().message)});
}

}  // namespace

Trust::Trust(const AuthenticationOptions& options, Parts parts, std::function<void()> changed)
    : options_(options),
      parts_(parts),
      changed_(std::move(changed)),
      clients_from_cluster_(options.client_ca_file.empty() && !options.skip_lookup && parts.api != nullptr),
      proxy_from_cluster_(options.request_header.client_ca_file.empty() && !options.skip_lookup &&
                          parts.api != nullptr),
      wants_certificates_(NeedsCluster() || !options.client_ca_file.empty() ||
                          !options.request_header.client_ca_file.empty()) {
  if (options.request_header.client_ca_file.empty()) return;
  const RequestHeaderOptions& given = options.request_header;
  front_proxy_ = {nullptr,           given.allowed_names, given.username_headers,
                  given.uid_headers, given.group_headers, given.extra_header_prefixes};
}

Trust::~Trust() { parts_.loop.Cancel(static_cast<http::Loop::TimerId>(timer_)); }

Expected<> Trust::CheckFiles(const AuthenticationOptions& options, const client::Environment& environment) {
  for (const auto& [file, purpose] : {std::pair{options.client_ca_file, kClients},
                                      std::pair{options.request_header.client_ca_file, kProxies}}) {
    if (!file.empty()) BERTH_RETURN_IF_ERROR(ReadAuthorities(environment, file, purpose, nullptr));
  }
  return {};
}

Expected<> Trust::ReadFiles() {
  BERTH_RETURN_IF_ERROR(ReadFile(options_.client_ca_file, kClients, clients_));
  return ReadFile(options_.request_header.client_ca_file, kProxies, front_proxy_.authorities);
}

Expected<> Trust::ReadFile(const std::string& file, const char* purpose,
                           std::shared_ptr<const http::AuthorityPool>& pool) {
  if (file.empty()) return {};
  BERTH_TRY(auto fresh, ReadAuthorities(parts_.environment, file, purpose, pool));
  if (fresh == pool) return {};
  const bool again = pool != nullptr;
  pool = std::move(fresh);
  if (again) {
    log::Info("Loaded a new CA Bundle and Verifier", {{"name", fmt::format("{}::{}", purpose, file)}});
    changed_();
  }
  return {};
}

Expected<> Trust::TakePool(const ConfigMapData& data, const std::string& key,
                           std::shared_ptr<const http::AuthorityPool>& pool) {
  const auto found = data.find(key);
  const std::string name = "client-ca::kube-system::extension-apiserver-authentication::" + key;
  if (found == data.end() || found->second.empty()) {
    return Invalid(fmt::format("missing content for CA bundle \"{}\"", name));
  }
  if (pool && pool->pem() == found->second) return {};
  auto parsed = http::AuthorityPool::Parse(found->second);
  if (!parsed) {
    return Invalid(fmt::format("error loading CA bundle for \"{}\": {}", name, parsed.error().message));
  }
  pool = std::move(*parsed);
  changed_();
  return {};
}

Expected<> Trust::Take(const ConfigMapData& data) {
  Expected<> outcome;
  if (clients_from_cluster_) outcome = TakePool(data, "client-ca-file", clients_);
  if (!proxy_from_cluster_) return outcome;
  BERTH_TRY(auto users, ParseList(data, "requestheader-username-headers"));
  BERTH_TRY(auto uids, ParseList(data, "requestheader-uid-headers"));
  BERTH_TRY(auto groups, ParseList(data, "requestheader-group-headers"));
  BERTH_TRY(auto extras, ParseList(data, "requestheader-extra-headers-prefix"));
  BERTH_TRY(auto names, ParseList(data, "requestheader-allowed-names"));
  front_proxy_ = {front_proxy_.authorities, std::move(names),  std::move(users),
                  std::move(uids),          std::move(groups), std::move(extras)};
  if (auto taken = TakePool(data, "requestheader-client-ca-file", front_proxy_.authorities); !taken) {
    return taken;
  }
  return outcome;
}

void Trust::Start() {
  Poll();
  if (!NeedsCluster()) return;
  watch_ = std::make_unique<ConfigMapWatch>(
      parts_.loop, *parts_.api, parts_.random, "kube-system", "extension-apiserver-authentication",
      [this](const ConfigMapData& data) {
        const auto taken = Take(data);
        if (const auto log = log::V(2); log && !taken) {
          log.Info("The authentication configuration is incomplete", {{"err", taken.error().message}});
        }
      });
  watch_->Start();
}

void Trust::Poll() {
  if (const auto read = ReadFiles(); !read && logged_errors_.First(read.error().message)) {
    log::Error("Failed to read a CA file; keeping the previous one", {{"err", read.error().message}});
  }
  timer_ = static_cast<std::uint64_t>(parts_.loop.After(kPoll, [this] { Poll(); }));
}

std::string Trust::AuthoritiesPem() const {
  std::string pem;
  for (const auto& pool : {clients_, front_proxy_.authorities}) {
    if (!pool) continue;
    pem += pool->pem();
    if (!pem.ends_with('\n')) pem += '\n';
  }
  return pem;
}

}  // namespace berth::service
