// Command shadow runs berth as the shadow of a real kube-scheduler.
//
// A real API server and a real kube-scheduler place pods of many shapes while nodes and pods are added, changed and
// deleted. `berth scheduler --berth-shadow` observes them as a user with read permissions only. At the end berth's
// report must contain no disagreement and explain every difference, and the audit log must contain no write and no
// denied request of berth.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const (
	user = "berth-shadow"
	// leastAllocated is the number of bound pods with devices that a run must have.
	leastAllocated = 20
)

type options struct {
	controlplane.Common
	nodes, rate, percentage int
	duration                time.Duration
	seed                    uint64
	manifests               string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("shadow", "--berth PATH", "Compares the decisions of kube-scheduler in a changing cluster with those of berth.")
	flags.IntVar(&o.nodes, "nodes", 100, "number of nodes, at most 500")
	flags.IntVar(&o.rate, "rate", 40, "pods created each second")
	flags.IntVar(&o.percentage, "percentage", 0, "percentageOfNodesToScore; with 100 nothing may be explained by sampling")
	flags.DurationVar(&o.duration, "duration", 20*time.Second, "duration of the creation of pods")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the workload")
	flags.StringVar(&o.manifests, "manifests", "", "the directory deploy/shadow; found from the root of the tree or tests/")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.nodes < 10 || o.nodes > 500 {
		return nil, fmt.Errorf("--nodes %d: between 10 and 500", o.nodes)
	}
	if err := controlplane.InTree(&o.manifests, "deploy/shadow"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("shadow", parse, run) }

// run compares in a second cluster if the first comparison was cut off: the search for the cluster's state that explains
// a difference has two seconds of real time, of which a busy machine may leave too little.
func run(ctx context.Context, o *options, directory string) error {
	wrong, cutOff, err := compare(ctx, o, directory)
	if err == nil && cutOff {
		fmt.Println("again, because a search for an explanation was cut off:", strings.Join(wrong, "; "))
		again := filepath.Join(directory, "again")
		if err := os.Mkdir(again, 0o755); err != nil {
			return err
		}
		wrong, _, err = compare(ctx, o, again)
	}
	for _, what := range wrong {
		fmt.Println("VIOLATION:", what)
	}
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%d violations", len(wrong))
	}
	return err
}

// compare returns the violations, and whether all disagreements are searches that were cut off.
func compare(ctx context.Context, o *options, directory string) (wrong []string, cutOff bool, err error) {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.StartAudited(ctx, o.Real, directory, children, fmt.Sprintf("users: [%q]", user))
	if err != nil {
		return nil, false, err
	}
	if err := allowReading(ctx, o, control); err != nil {
		return nil, false, err
	}
	churn := newChurn(control.Client, o)
	if err := churn.prepare(ctx); err != nil {
		return nil, false, err
	}
	if err := startKubeScheduler(control, children, o); err != nil {
		return nil, false, err
	}
	s := &shadow{control: control, options: o, report: filepath.Join(directory, "report.json")}
	if err := s.start(ctx, children); err != nil {
		return nil, false, err
	}
	began := time.Now()
	if err := churn.run(ctx); err != nil {
		return nil, false, err
	}
	found, err := s.finish(ctx)
	if err != nil {
		return nil, false, err
	}
	fmt.Printf("%d nodes, percentageOfNodesToScore %d, %.0f s: %s\n", o.nodes, o.percentage, time.Since(began).Seconds(), churn.done())
	fmt.Print(found.text)
	bindings, err := s.failedBindings()
	if err != nil {
		return nil, false, err
	}
	if err := found.leaveOut(bindings); err != nil {
		return nil, false, err
	}
	fmt.Printf("berth used %.1f s of CPU, at most %d MiB\n", found.cpu, found.peakMiB)
	wrong = append(found.wrong(churn.bound.Load(), o.sampling()), checkAudit(control.AuditLog())...)
	if allocated := churn.allocated.Load(); allocated < leastAllocated {
		wrong = append(wrong, fmt.Sprintf("only %d bound pods had devices: the workload is too easy", allocated))
	}
	cutOff, err = found.cutOff(wrong)
	return wrong, cutOff, err
}

// sampling returns whether kube-scheduler evaluates only a part of the nodes.
func (o *options) sampling() bool { return o.nodes > 100 && o.percentage < 100 }

// allowReading grants the shipped permissions, which contain no write.
func allowReading(ctx context.Context, o *options, control *controlplane.ControlPlane) error {
	if _, err := control.Kubectl(ctx, nil, "apply", "-f", o.manifests); err != nil {
		return err
	}
	_, err := control.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-test"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	return err
}

// configuration is the same for both except for the kubeconfig.
func configuration(kubeconfig string, percentage int) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: true}
percentageOfNodesToScore: %d
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 500}
`, kubeconfig, percentage)
}

func startKubeScheduler(control *controlplane.ControlPlane, children *controlplane.Children, o *options) error {
	kubeconfig, err := control.WriteKubeconfig(control.URL, "kube-scheduler", "admin")
	if err != nil {
		return err
	}
	config := control.File("kube-scheduler.yaml")
	if err := os.WriteFile(config, []byte(configuration(kubeconfig, o.percentage)), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	_, err = children.Start("kube-scheduler", []string{o.Real, "kube-scheduler"}, "--config="+config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]))
	return err
}
