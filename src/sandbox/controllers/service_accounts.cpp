#include "sandbox/controllers/service_accounts.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kAccount = "default";
constexpr std::string_view kRootCertificates = "kube-root-ca.crt";

}  // namespace

ServiceAccounts::ServiceAccounts(ControllerContext& context)
    : context_(context),
      queue_(context.timers, context.verbs.clock(), [this](const std::string& ns) { return Reconcile(ns); }) {
  for (const auto& [name, _] : context.store().All(Known().namespaces)) queue_.Add(name);
  context.store().Observe(*this);
}

void ServiceAccounts::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().namespaces && change.after && !change.before) queue_.Add(change.after->name);
  if (change.after) return;
  const Object& gone = *change.removed;
  if ((&type == &Kinds().service_accounts && gone.name == kAccount) ||
      (&type == &Kinds().config_maps && gone.name == kRootCertificates)) {
    queue_.Add(gone.ns);
  }
}

WorkQueue::Outcome ServiceAccounts::Reconcile(const std::string& ns) {
  const ObjectPtr object = context_.store().Get(Known().namespaces, ns);
  if (!object || object->deleting) return {};
  if (!context_.store().Get(Kinds().service_accounts, ObjectKey(ns, kAccount))) {
    Document account;
    account.root()["metadata"] = json::object{{"name", kAccount}};
    (void)context_.verbs.Create(Kinds().service_accounts, ns, std::move(account));
  }
  if (!context_.store().Get(Kinds().config_maps, ObjectKey(ns, kRootCertificates))) {
    Document map;
    map.root()["metadata"] = json::object{{"name", kRootCertificates}};
    map.root()["data"] = json::object{{"ca.crt", ""}};
    (void)context_.verbs.Create(Kinds().config_maps, ns, std::move(map));
  }
  return {};
}

}  // namespace berth::sandbox
