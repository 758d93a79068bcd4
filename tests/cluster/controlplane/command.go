package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Common contains the options of every program that runs schedulers against a control plane.
type Common struct {
	Real, Berth string
	logs        string
}

// Flags creates a flag set with the common flags. --help begins with synopsis and about.
func (c *Common) Flags(name, synopsis, about string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage: %s %s\n\n%s\n"+
			"Exit code: 0 all well, 1 otherwise. The logs stay if something is wrong.\n\nFlags:\n", name, synopsis, about)
		flags.PrintDefaults()
	}
	flags.StringVar(&c.Real, "real", "", "the control plane, as tests/cluster/build prints it; built if missing")
	flags.StringVar(&c.Berth, "berth", "", "the berth program at this `PATH`")
	flags.StringVar(&c.logs, "logs", "", "directory for logs and files, kept; otherwise a temporary one, kept on failure")
	return flags
}

// CompleteWithBerth is Complete for programs that require berth.
func (c *Common) CompleteWithBerth() error {
	if c.Berth == "" {
		return errors.New("give --berth")
	}
	return c.Complete()
}

// Complete checks that berth exists, builds the control plane unless one was given, and makes paths absolute,
// because programs run in other directories.
func (c *Common) Complete() (err error) {
	if err := complete("berth", &c.Berth); err != nil {
		return err
	}
	if c.Real == "" {
		if c.Real, err = BuildReal(); err != nil {
			return fmt.Errorf("building the control plane: %w", err)
		}
	}
	return complete("real", &c.Real)
}

// complete makes the path of a program absolute, if given, and fails if there is no such program.
func complete(flag string, path *string) (err error) {
	if *path == "" {
		return nil
	}
	if *path, err = filepath.Abs(*path); err != nil {
		return err
	}
	if _, err := exec.LookPath(*path); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// InTree makes the path of a directory absolute; the default is the directory of that name in the source
// tree, searched from its root or tests/.
func InTree(path *string, name string) (err error) {
	for _, place := range []string{name, filepath.Join("..", name)} {
		if _, err := os.Stat(place); err == nil && *path == "" {
			*path = place
		}
	}
	*path, err = filepath.Abs(*path)
	return err
}

// ModuleDirectory is the directory of a module's sources in the Go module cache: "sigs.k8s.io/karpenter@v1.15.0".
func ModuleDirectory(module string) (string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMODCACHE: %w", err)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), module)
	_, err = os.Stat(path)
	return path, err
}

// SchedulerPluginsDefinition is the path of the CustomResourceDefinition of this kind (plural) of scheduler-plugins in the
// Go module cache.
func SchedulerPluginsDefinition(plural string) (string, error) {
	module, err := ModuleDirectory("sigs.k8s.io/scheduler-plugins@v0.33.5")
	if err != nil {
		return "", err
	}
	path := filepath.Join(module, "config/crd/bases/scheduling.x-k8s.io_"+plural+".yaml")
	_, err = os.Stat(path)
	return path, err
}

func (c *Common) common() *Common { return c }

// Main runs a program: it parses the command line, creates a directory for the run, and exits with the
// result.
func Main[O interface{ common() *Common }](name string, parse func(args []string) (O, error), run func(ctx context.Context, o O, directory string) error) {
	klog.SetLogger(logr.Discard())
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	directory, err := o.common().directory(name)
	if err == nil {
		err = run(ctx, o, directory)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s: logs are in %s\n", name, err, name, directory)
		os.Exit(1)
	}
	if o.common().logs == "" {
		os.RemoveAll(directory)
	}
}

func (c *Common) directory(name string) (string, error) {
	if c.logs == "" {
		return os.MkdirTemp("", "berth-"+name+"-")
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return c.logs, err
	}
	return filepath.Abs(c.logs)
}
