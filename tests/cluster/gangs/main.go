// Command gangs runs scenarios with groups of pods of other projects in real clusters: those of scheduler-plugins
// once with its plugin Coscheduling in kube-scheduler 1.33 and once with berth, from one configuration file; the
// others with berth. Every scenario states the pods that must be bound, and that must stay unbound.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	only      string
	reference string
	crd       string
	guide     string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("gangs", "--berth PATH --reference PATH [--only WORDS]",
		"Runs scenarios with groups of pods of other projects, with Coscheduling of scheduler-plugins and with berth.\n"+
			"With --reference none only berth plays.")
	flags.StringVar(&o.only, "only", "", "only the scenarios with these `WORDS` in their name")
	flags.StringVar(&o.reference, "reference", "", "the `PATH` of tests/scheduler-plugins/scheduler, built")
	flags.StringVar(&o.crd, "crd", "", "the `FILE` with the definition of PodGroups; default: that of the Go module of scheduler-plugins")
	flags.StringVar(&o.guide, "guide", "", "the `DIRECTORY` with the manifests of the guide; default: examples/gangs")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.reference == "" {
		return nil, errors.New("give --reference")
	}
	if o.crd == "" {
		var err error
		if o.crd, err = controlplane.SchedulerPluginsDefinition("podgroups"); err != nil {
			return nil, err
		}
	}
	if err := controlplane.InTree(&o.guide, "examples/gangs"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() { controlplane.Main("gangs", parse, run) }

func run(ctx context.Context, o *options, directory string) error {
	violations := 0
	for _, scheduler := range o.schedulers() {
		wrong, err := o.play(ctx, scheduler, filepath.Join(directory, scheduler.name))
		if err != nil {
			return fmt.Errorf("%s: %w", scheduler.name, err)
		}
		violations += wrong
	}
	if violations > 0 {
		return fmt.Errorf("%d violations", violations)
	}
	return nil
}

// scheduler is a program with its configuration, and the scenarios that it plays.
type scheduler struct {
	name        string
	command     []string
	profile     string // the end of the configuration file
	scenarios   []scenario
	isReference bool
}

func (o *options) schedulers() (all []scheduler) {
	if o.reference != "none" {
		all = append(all, scheduler{"coscheduling", []string{o.reference}, coschedulingProfile, coscheduling(), true})
	}
	berth := []string{o.Berth, "scheduler"}
	return append(all,
		scheduler{"berth-coscheduling", berth, coschedulingProfile, coscheduling(), false},
		scheduler{"berth-gangs", berth, gangsProfile, append(coscheduling(), o.others()...), false})
}

func (o *options) play(ctx context.Context, scheduler scheduler, directory string) (violations int, err error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return 0, err
	}
	children := controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, &children)
	if err != nil {
		return 0, err
	}
	if _, err := control.StartControllers("job-controller", "garbage-collector-controller"); err != nil {
		return 0, err
	}
	s := &stage{ControlPlane: control, ctx: ctx, options: o}
	if err := s.install(); err != nil {
		return 0, err
	}
	if err := start(control, &children, scheduler); err != nil {
		return 0, err
	}
	for _, one := range scheduler.scenarios {
		if !strings.Contains(one.name, o.only) {
			continue
		}
		started := time.Now()
		wrong := s.try(one)
		// The plugin of scheduler-plugins reads PodGroups from a cache of its own. If that is behind the event which
		// wakes the pods, it rejects them with "PodGroup not found", and nothing wakes them again.
		for again := 0; wrong != nil && scheduler.isReference && again < 2; again++ {
			fmt.Printf("%-18s %-60s repeated: %v\n", scheduler.name, one.name, wrong)
			wrong = s.try(one)
		}
		fmt.Printf("%-18s %-60s %3.0f s\n", scheduler.name, one.name, time.Since(started).Seconds())
		if wrong != nil {
			fmt.Printf("VIOLATION: %s: %s: %v\n", scheduler.name, one.name, wrong)
			violations++
		}
	}
	return violations, nil
}

// start runs the scheduler as an administrator: the permissions for groups are tested elsewhere.
func start(control *controlplane.ControlPlane, children *controlplane.Children, scheduler scheduler) error {
	kubeconfig, err := control.WriteKubeconfig(control.URL, scheduler.name, "admin")
	if err != nil {
		return err
	}
	config := control.File(scheduler.name + ".yaml")
	text := fmt.Sprintf(configuration, kubeconfig) + scheduler.profile
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	_, err = children.Start(scheduler.name, scheduler.command, "--kubeconfig="+kubeconfig, "--config="+config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "-v=3")
	return err
}

const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
podMaxBackoffSeconds: 2
profiles:
- schedulerName: default-scheduler
`

const coschedulingProfile = `
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: Coscheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: CoschedulingArgs
      permitWaitingTimeSeconds: 5
`

const gangsProfile = `
  plugins: {multiPoint: {enabled: [{name: Gangs}]}}
  pluginConfig:
  - name: Gangs
    args: {sources: [Coscheduling, Volcano, Job, Spark, Flink, Annotation]}
`
