// A complete cluster in one object: API server, simulated nodes, and the controllers that these require.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "sandbox/apiserver/auth/policy.hpp"
#include "sandbox/cluster/persistence/dump.hpp"
#include "sandbox/cluster/persistence/load.hpp"
#include "sandbox/controllers/controllers.hpp"
#include "sandbox/kubelet/kubelet.hpp"
#include "sandbox/kubelet/node_pool.hpp"

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
  std::string objects;         // contents of a file: initial objects (see persistence/load.hpp)
  std::size_t window = 16384;  // number of changes per resource from which watches can resume
  std::uint64_t seed = 1;
  bool https = false;                      // with generated certificates
  std::shared_ptr<const Policy> policy{};  // null: every request is allowed
  bool field_ownership = true;             // maintain metadata.managedFields
};

// Must be used on the thread that runs `io`; that thread is the only writer.
class Sandbox {
 public:
  // Creates the cluster and listens. `clock` must outlive the sandbox.
  static Expected<std::unique_ptr<Sandbox>> Start(boost::asio::io_context& io, const Clock& clock,
                                                  const SandboxOptions& options);
  ~Sandbox();

  std::uint16_t port() const;
  // "http://127.0.0.1:8001"
  std::string url() const;
  // Server address, the authority's certificate and credentials for every user of the policy; each user has a
  // context. The first user is "sandbox", who may do everything, with and without a policy.
  std::string Kubeconfig() const;
  Verbs& verbs();
  // Number of objects loaded from SandboxOptions::objects, and the skipped ones.
  const LoadReport& loaded() const;
  // All objects in the format of a file.
  std::string Dump(DumpFormat format) const;
  // Ends watches and connections, then calls `done`.
  void Stop(std::function<void()> done);

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::sandbox
