package main

import "strings"

// A line is a command line. Unless it is bare, both programs write the effective configuration and exit.
type line struct {
	name string
	args []string
	// The configuration file for --config.
	config string
	// Without --kubeconfig, --write-config-to and --secure-port of this program.
	bare bool
	// The reason of a deliberate difference; `berth` is then the expected text.
	differs string
	berth   string // part of berth's error; empty: success
}

// The lines, by topic.
func lines() []line {
	var all []line
	for _, family := range [][]line{
		shapes(), scalarFlags(), misc(), serving(), access(), electionFlags(), gates(), metricFlags(), logFlags(), versions(), oldFlags(),
	} {
		all = append(all, family...)
	}
	return all
}

// Rows that only have arguments.
func plain(texts ...string) []line {
	var rows []line
	for _, text := range texts {
		rows = append(rows, line{name: text, args: strings.Fields(text)})
	}
	return rows
}

func shapes() []line {
	return append(plain(
		"--nope", "--nope=1", "-x", "-xv", "--leader-elec", "--=1", "---v=1", "--nope --also-nope",
		"foo", "foo bar", "--leader-elect false", "--leader-elect -- foo", "-- foo", "--",
		"--leader-elect=false --leader-elect=true", "--leader_elect=false", "--v=1 --v=0", "-v0", "-v=0", "-v 0",
		"--secure-port", "-v", "--profiling", "--master=",
	),
		line{name: "an empty argument", args: []string{""}},
		line{name: "empty arguments and a word", args: []string{"", "a"}},
		line{name: "a word and a wrong flag", args: []string{"foo", "--nope"}},
		line{name: "a missing value for the last flag", args: []string{"--leader-elect-resource-name"}},
	)
}

func scalarFlags() []line {
	return append(plain(
		"--leader-elect=maybe", "--leader-elect=yes", "--leader-elect=T", "--leader-elect=", "--profiling=2", "--contention-profiling=f",
		"--leader-elect-lease-duration=15", "--leader-elect-lease-duration=1d", "--leader-elect-lease-duration=", "--leader-elect-lease-duration=s",
		"--leader-elect-lease-duration=1.5m", "--leader-elect-lease-duration=-", "--leader-elect-lease-duration=20seconds",
		"--pod-max-in-unschedulable-pods-duration=x", "--authentication-token-webhook-cache-ttl=10",
		"--secure-port=x", "--secure-port=1.5", "--secure-port=", "--secure-port=99999999999999999999",
		"--kube-api-burst=x", "--kube-api-burst=3000000000", "--kube-api-qps=x", "--kube-api-qps=1e400", "--kube-api-qps=",
		"--tls-curve-preferences=a", "--tls-curve-preferences=", "--tls-cipher-suites=", "--http2-max-streams-per-connection=x",
		"--secure-port=0x2813", "--secure-port=0o24023", "--secure-port=1_0", "--kube-api-qps=0x1p3", "--kube-api-burst=-0x1",
		"--kube-api-qps=5_0", "--kube-api-qps=+5", "--kube-api-qps=1e39",
	),
		line{name: "a list with a quote that does not end", args: []string{`--disabled-metrics="a`}},
		line{name: "a list with a quote in the middle", args: []string{`--disabled-metrics=a"b`}},
		line{name: "a list with a quoted comma", args: []string{`--disabled-metrics="a,b",c`}},
		line{name: "--kube-api-qps=inf", args: []string{"--kube-api-qps=inf"}, differs: "kube-scheduler cannot write it as JSON"},
		line{name: "a duration in quotes", args: []string{`--leader-elect-lease-duration="15s"`}},
		line{name: "a number with a space", args: []string{"--secure-port= 1"}},
	)
}

func misc() []line {
	return append(plain("--kubeconfig=/nowhere/kubeconfig", "--kube-api-content-type=application/yaml", "--kube-api-qps=5 --kube-api-burst=0",
		"--kube-api-qps=0", "--kube-api-qps=-1", "--master=http://127.0.0.1:2"),
		line{name: "a file that is not there", args: []string{"--config=DIR/nothing.yaml"}},
		line{name: "a directory for a file", args: []string{"--config=DIR"}},
		line{name: "a place that is not there", args: []string{"--write-config-to=DIR/a/b"}},
		line{name: "a burst of less than none", args: []string{"--kube-api-burst=-1"}},
		line{name: "a rate and a burst of less than none", args: []string{"--kube-api-qps=7", "--kube-api-burst=-1"}},
		line{name: "a file wins over deprecated flags", config: "parallelism: 3\nclientConnection: {kubeconfig: KUBECONFIG}\n",
			args: []string{"--profiling=false", "--kube-api-qps=7", "--kubeconfig=/nowhere"}},
		line{name: "a file and no kubeconfig", config: "parallelism: 3\n", args: []string{},
			differs: "the flag counts where the file names none"},
		line{name: "a wrong file", config: "parallelism: 0\nclientConnection: {kubeconfig: KUBECONFIG}\n"},
		line{name: "a wrong file and a wrong port", config: "parallelism: 0\nclientConnection: {kubeconfig: KUBECONFIG}\n", args: []string{"--secure-port=-1"}},
		line{name: "a broken kubeconfig", args: []string{"--kubeconfig=DIR/broken"},
			differs: "each YAML parser has its own words", berth: "error loading config file"},
	)
}

func serving() []line {
	return append(plain(
		"--bind-address=foo", "--bind-address=1.2.3", "--bind-address=127.0.0.1", "--bind-address=::1", "--bind-address=010.0.0.1",
		"--bind-address=fe80::1%eth0", "--bind-address=", "--bind-address=[::1]",
		"--secure-port=-1", "--secure-port=65536", "--secure-port=0",
		"--tls-cipher-suites=TLS_NOPE", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_NOPE", "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA",
		"--tls-min-version=1.3", "--tls-min-version=VersionTLS14", "--tls-min-version=VersionTLS10", "--tls-min-version=VersionTLS13",
		"--tls-curve-preferences=23,23", "--tls-curve-preferences=0", "--tls-curve-preferences=1", "--tls-curve-preferences=65536", "--tls-curve-preferences=23,29",
		"--tls-cert-file=DIR/kubeconfig", "--tls-private-key-file=DIR/kubeconfig", "--tls-cert-file=/nowhere/a --tls-private-key-file=/nowhere/b",
		"--tls-sni-cert-key=a", "--tls-sni-cert-key=a,b,c", "--tls-sni-cert-key=a,b:", "--tls-sni-cert-key=/nowhere/a,/nowhere/b",
		"--tls-cipher-suites=TLS_NOPE --tls-min-version=nope", "--secure-port=0 --tls-min-version=nope", "--cert-dir=DIR/certificates",
		"--permit-port-sharing --permit-address-sharing --disable-http2-serving --http2-max-streams-per-connection=5",
	),
		line{name: "a certificate that is none", args: []string{"--tls-cert-file=DIR/kubeconfig", "--tls-private-key-file=DIR/kubeconfig"},
			differs: "OpenSSL has its own words", berth: "server certificate"},
		line{name: "a directory that cannot be made", args: []string{"--cert-dir=/proc/nowhere"}},
	)
}

func access() []line {
	return plain(
		"--client-ca-file=/nowhere/ca", "--client-ca-file=DIR/kubeconfig", "--client-ca-file=DIR/empty",
		"--requestheader-client-ca-file=/nowhere/ca", "--requestheader-client-ca-file=DIR/kubeconfig",
		"--authentication-kubeconfig=/nowhere/kubeconfig", "--authorization-kubeconfig=/nowhere/kubeconfig",
		"--authorization-always-allow-paths=/a*b", "--authorization-always-allow-paths=/a/*", "--authorization-always-allow-paths=",
		"--requestheader-uid-headers=X-Foo", "--requestheader-uid-headers=X-Remote-Uid,X-Foo",
		"--requestheader-uid-headers=X-Foo --feature-gates=RemoteRequestHeaderUID=false",
		"--requestheader-username-headers=a,,b", "--requestheader-group-headers=,", "--requestheader-extra-headers-prefix=,a --requestheader-username-headers=,a",
		"--requestheader-username-headers=X-Foo", "--requestheader-allowed-names=,",
		"--authentication-skip-lookup --authentication-token-webhook-cache-ttl=0", "--authorization-webhook-cache-authorized-ttl=-1s",
		"--client-ca-file=/nowhere/ca --authorization-always-allow-paths=/a*b", "--client-ca-file=/nowhere/ca --secure-port=0",
	)
}

func electionFlags() []line {
	return append(plain(
		"--leader-elect=false", "--leader-elect-resource-lock=endpoints", "--leader-elect-resource-lock=configmaps", "--leader-elect-resource-lock=endpointsleases",
		"--leader-elect-resource-lock=nope", "--leader-elect-resource-lock=", "--leader-elect-resource-name=", "--leader-elect-resource-namespace=",
		"--leader-elect-lease-duration=0s", "--leader-elect-renew-deadline=-1s", "--leader-elect-retry-period=0",
		"--leader-elect-lease-duration=0s --leader-elect-retry-period=0s --leader-elect-resource-name= --secure-port=-1",
		"--leader-elect=false --leader-elect-lease-duration=0s", "--leader-elect=false --leader-elect-resource-lock=nope",
		"--leader-elect-renew-deadline=20s --leader-elect-lease-duration=30s",
		"--leader-elect-renew-deadline=20s", "--leader-elect-lease-duration=10s", "--leader-elect-retry-period=10s",
	),
		line{name: "flags win over the file's election", config: "leaderElection: {leaderElect: true, resourceName: a, leaseDuration: 20s}\nclientConnection: {kubeconfig: KUBECONFIG}\n",
			args: []string{"--leader-elect=false", "--leader-elect-resource-name=b"}},
		line{name: "a flag spoils the file's election", config: "leaderElection: {leaseDuration: 20s}\nclientConnection: {kubeconfig: KUBECONFIG}\n",
			args: []string{"--leader-elect-lease-duration=0s"}},
		line{name: "a flag heals the file's short lease", config: "leaderElection: {leaseDuration: 5s}\nclientConnection: {kubeconfig: KUBECONFIG}\n",
			args: []string{"--leader-elect-lease-duration=20s"}},
		line{name: "a flag heals the file's election", config: "leaderElection: {leaseDuration: 0s}\nclientConnection: {kubeconfig: KUBECONFIG}\n",
			args: []string{"--leader-elect-lease-duration=20s"}},
	)
}

func gates() []line {
	return plain(
		"--feature-gates=Nope=true", "--feature-gates=Nope", "--feature-gates=SchedulerQueueingHints=ja", "--feature-gates=", "--feature-gates=,",
		"--feature-gates==true", "--feature-gates=kube:SchedulerAsyncPreemption=false", "--feature-gates=other:SchedulerAsyncPreemption=false",
		"--feature-gates=SchedulerQueueingHints=false", "--feature-gates=SchedulerQueueingHints=true", "--feature-gates=NodeInclusionPolicyInPodTopologySpread=false",
		"--feature-gates=AllBeta=false", "--feature-gates=SchedulerAsyncPreemption=true,Nope=true",
		"--feature-gates=SchedulerAsyncPreemption=false --feature-gates=Nope=1", "--feature-gates=SchedulerAsyncPreemption=false,SchedulerAsyncPreemption=true",
		"--feature-gates=DynamicResourceAllocation=false", "--feature-gates=SchedulerAsyncPreemption=1", "--feature-gates=CompositePodGroup=true",
	)
}

func metricFlags() []line {
	return append(plain(
		"--show-hidden-metrics-for-version=1.36", "--show-hidden-metrics-for-version=1.35", "--show-hidden-metrics-for-version=x", "--show-hidden-metrics-for-version=1.37",
		"--allow-metric-labels=foo", "--allow-metric-labels=foo=bar", "--allow-metric-labels=,", "--allow-metric-labels=a,b=c",
		"--allow-metric-labels-manifest=/nowhere/manifest", "--allow-metric-labels-manifest=DIR/empty", "--allow-metric-labels-manifest=DIR/pairs", "--allow-metric-labels-manifest=DIR/words",
		"--disabled-metrics=scheduler_pending_pods", "--disabled-metrics=Not-A-Name", "--disabled-metrics=", "--disabled-metrics=a,,b",
	),
		line{name: "labels, quoted", args: []string{`--allow-metric-labels="scheduler_pending_pods,queue=active,backoff"`}},
		line{name: "labels, flag and manifest", args: []string{"--allow-metric-labels-manifest=DIR/pairs", `--allow-metric-labels="a,b=c"`}},
		line{name: "a manifest as the help describes it", args: []string{"--allow-metric-labels-manifest=DIR/manifest"},
			differs: "kube-scheduler does not read what its help describes"},
		line{name: "a manifest of something else", args: []string{"--allow-metric-labels-manifest=DIR/kubeconfig"},
			differs: "each YAML parser has its own words", berth: "failed to parse allow list manifest"},
	)
}

func logFlags() []line {
	return plain(
		"--logging-format=xml", "--logging-format=", "--logging-format=json", "--logging-format=json --vmodule=a=1",
		"-v=x", "-v=-1", "-v=4294967296", "-v=2147483648", "-v=1.5", "--v=", "-v=0x2",
		"--vmodule=a", "--vmodule=a=x", "--vmodule==1", "--vmodule=a=1,b=2", "--vmodule=a=-1", "--vmodule=", "--vmodule=a=1,,b=2", "--vmodule=a=2147483648",
		"--log-flush-frequency=0s", "--log-flush-frequency=-1s", "--log-flush-frequency=x", "--log-flush-frequency=1s",
		"--log-text-split-stream", "--log-json-split-stream", "--log-json-info-buffer-size=1Ki", "--log-text-info-buffer-size=x", "--log-text-info-buffer-size=-1",
		"--log-text-split-stream --feature-gates=LoggingAlphaOptions=true", "--logging-format=json --feature-gates=LoggingBetaOptions=false",
		"--logging-format=xml --log-flush-frequency=0s", "--log-text-info-buffer-size=",
	)
}

func versions() []line {
	rows := plain("--version=false", "--version=v1.37.1-mine", "--emulated-version=1.33",
		"--emulated-version=1.38", "--emulated-version=x", "--emulated-version=foo=1.36", "--emulated-version=1.36.1", "--emulated-version=2.1",
		"--min-compatibility-version=1.36", "--min-compatibility-version=1.37", "--min-compatibility-version=1.38", "--min-compatibility-version=x",
		"--emulated-version=1.35 --min-compatibility-version=1.36", "--emulated-version=1.36,1.35", "--emulated-version=")
	for _, text := range []string{"--emulated-version=1.36", "--emulated-version=kube=1.34"} {
		rows = append(rows, line{name: text, args: strings.Fields(text), differs: "berth follows 1.37, whatever it is asked for"})
	}
	for _, text := range []string{"--version", "--version=true", "--version=1", "--version=maybe", "--version=v1.36.0", "--version=v1.37.10", "--version=v1.37.1", "--version=",
		"--version --nope", "--version foo", "--version=v1.37.1-mine --version", "--version --logging-format=xml", "--version --feature-gates=Nope=true",
		"--help", "-h", "--help --nope", "--help foo", "--help=false foo", "--version --help"} {
		rows = append(rows, line{name: text, args: strings.Fields(text), bare: true})
	}
	return rows
}

func oldFlags() []line {
	const honoured = "flags of older releases are understood"
	var rows []line
	for _, text := range []string{"--port=0", "--address=0.0.0.0", "--algorithm-provider=DefaultProvider", "--lock-object-name=x", "--lock-object-namespace=x",
		"--scheduler-name=x", "--hard-pod-affinity-symmetric-weight=1", "--logtostderr=true", "--alsologtostderr", "--stderrthreshold=2", "--log-dir=/tmp",
		"--use-legacy-policy-config", "--policy-configmap-namespace=x", "--log-file=/tmp/x", "--skip-headers"} {
		rows = append(rows, line{name: text, args: strings.Fields(text), differs: honoured})
	}
	return append(rows,
		line{name: "--algorithm-provider=Nope", args: []string{"--algorithm-provider=Nope"}, differs: honoured, berth: "Nope"},
		line{name: "--policy-config-file=/nowhere", args: []string{"--policy-config-file=/nowhere"}, differs: honoured, berth: "/nowhere"},
		line{name: "--policy-configmap=x", args: []string{"--policy-configmap=x"}, differs: honoured, berth: "couldn't get policy config map kube-system/x"},
		line{name: "--port=70000", args: []string{"--port=70000"}, differs: honoured, berth: "must be between 0 and 65535"},
		line{name: "--berth-trace-ratio=2", args: []string{"--berth-trace-ratio=2"}, differs: "a flag of berth's own", berth: "must be between 0 and 1"},
		line{name: "--berth-scheduled-event-ratio=-1", args: []string{"--berth-scheduled-event-ratio=-1"}, differs: "a flag of berth's own", berth: "must be between 0 and 1"},
		line{name: "--berth-max-classes=0", args: []string{"--berth-max-classes=0"}, differs: "a flag of berth's own", berth: "must be between 1 and 1000"},
		line{name: "--berth-seed=1", args: []string{"--berth-seed=1"}, differs: "a flag of berth's own"},
	)
}
