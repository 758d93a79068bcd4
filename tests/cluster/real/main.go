// Command berth-real is the Kubernetes control plane in one program: etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager and kubectl as subcommands.
//
// They share most of their code, so one program needs a fraction of the time and space of five.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// Dependencies of the programs' main packages: client authentication, log formats, client and version metrics.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// parts are constructors, not commands: the creation of a command registers its feature gates, and only the selected
// program may do that.
// that runs may do that.
var parts = map[string]func() int{
	"etcd": func() int {
		etcdmain.Main(os.Args)
		return 0
	},
	"kube-apiserver":          func() int { return run(apiserver.NewAPIServerCommand()) },
	"kube-scheduler":          func() int { return run(scheduler.NewSchedulerCommand()) },
	"kube-controller-manager": func() int { return run(controllers.NewControllerManagerCommand()) },
	"kubectl":                 runKubectl,
}

func run(command *cobra.Command) int { return cli.Run(command) }

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "berth-real is the control plane of Kubernetes in one file, for tests.")
	fmt.Fprintln(w, "\nUsage: berth-real PROGRAM [flags of that program]; or call it through a link named PROGRAM.")
	fmt.Fprintln(w, "\nPrograms:")
	var names []string
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintln(w, "  "+name)
	}
}

func main() {
	if part, ok := parts[filepath.Base(os.Args[0])]; ok {
		os.Exit(part())
	}
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name := os.Args[1]
	if name == "help" || name == "--help" || name == "-h" {
		usage(os.Stdout)
		return
	}
	part, ok := parts[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "berth-real: there is no program %q\n\n", name)
		usage(os.Stderr)
		os.Exit(2)
	}
	// The programs expect their flags after their own name.
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(part())
}
