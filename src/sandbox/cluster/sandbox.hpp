// A whole cluster in one object: API server, simulated nodes, the controllers without which they would not be
// alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/controllers/controllers.hpp"
#include "sandbox/kubelet/kubelet.hpp"
#include "sandbox/kubelet/node_pool.hpp"
#include "sandbox/cluster/persistence/dump.hpp"
#include "sandbox/cluster/persistence/load.hpp"

namespace boost::asio {
class io_context;
}

namespace berth::sandbox {

struct SandboxOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: the system chooses
  NodePoolOptions nodes;
  KubeletOptions kubelet;
  ControllersOptions controllers;
  std::string objects;  // a file's text: objects that are there from the start (see persistence/load.hpp)
  std::size_t window = 16384;  // changes of each resource that watches can resume from
  std::uint64_t seed = 1;
  bool https = false;                      // with certificates made for the occasion
  std::shared_ptr<const Policy> policy{};  // null: everybody may do everything
  bool field_ownership = true;             // metadata.managedFields are kept
};

// Lives on the thread that runs `io`; that thread is the only writer.
class Sandbox {
 public:
  // Creates the cluster and listens. `clock` must outlive the sandbox.
  static Expected<std::unique_ptr<Sandbox>> Start(boost::asio::io_context& io, const Clock& clock,
                                                  const SandboxOptions& options);
  ~Sandbox();

  std::uint16_t port() const;
  // "http://127.0.0.1:8001"
  std::string url() const;
  // How to get there, with the authority's certificate and credentials for every user of the policy; each
  // user is a context. Without a policy, and first with one, there is "sandbox", who may do everything.
  std::string Kubeconfig() const;
  Verbs& verbs();
  // How many objects came from SandboxOptions::objects, and what did not.
  const LoadReport& loaded() const;
  // Everything there is, as a file.
  std::string Dump(DumpFormat format) const;
  // Ends watches and connections, then calls `done`.
  void Stop(std::function<void()> done);

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::sandbox
