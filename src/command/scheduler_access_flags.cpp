#include "command/scheduler_access_flags.hpp"

namespace berth::command {

void AddClusterFlags(command_line::FlagSet& flags, std::string& kubeconfig, std::string& context) {
  flags.Path("kubeconfig", kubeconfig, "kubeconfig of the user; default: $KUBECONFIG, else ~/.kube/config");
  flags.String("context", context, "context of the kubeconfig; default: the current one", "NAME");
}

void AddSchedulerAccessFlags(command_line::FlagSet& flags, scheduler_access::AccessOptions& options) {
  flags.Section("The running scheduler");
  flags.String(
      "server", options.server,
      "URL of the scheduler's secure port, such as https://127.0.0.1:10259; default: a port that kubectl "
      "forwards to the leader's pod",
      "URL");
  flags.String("lease", options.lease,
               "Lease of the leader; default: kube-system/berth, else kube-system/kube-scheduler",
               "NAMESPACE/NAME");
  flags.Path(
      "scheduler-ca", options.ca_file,
      "certificates of the authority that signed the scheduler's certificate; default with --server: that of "
      "the kubeconfig; a forwarded port is not verified without this flag");
  flags.String("tls-server-name", options.server_name,
               "name that the scheduler's certificate must have; default: the host of --server", "NAME");
  flags.Bool("insecure-skip-tls-verify", options.insecure, "do not verify the scheduler's certificate");
}

}  // namespace berth::command
