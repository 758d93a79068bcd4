package main

import (
	"context"
	"strings"
	"time"
)

// acts are what is asked, in order.
func acts(s *stage) []act {
	return []act{
		{name: "who", questions: whoQuestions()},
		{name: "proxy", questions: proxyQuestions()},
		{name: "what", questions: whatQuestions()},
		{name: "pages", questions: pageQuestions()},
		{name: "metrics", questions: metricsQuestions()},
		{name: "leads", before: s.elect, pair: leading, questions: electedQuestions(leading)},
		{name: "stands by", pair: standingBy, questions: electedQuestions(standingBy)},
		{name: "trusted", before: s.trustStranger, questions: []question{
			{name: "trusted: yesterday's stranger", cert: "stranger", path: "/livez/ping"},
			{name: "trusted: still expired", cert: "expired", path: "/livez/ping"},
			{name: "trusted: still a master", cert: "master", path: "/livez/ping"},
		}},
		// Tokens are remembered for ten seconds, so these two were asked about before.
		{name: "away", before: func(context.Context) error {
			s.APIServer.Kill()
			return nil
		}, questions: awayQuestions()},
		// By then nobody remembers anything.
		{name: "forgotten", before: func(ctx context.Context) error {
			time.Sleep(11 * time.Second)
			return nil
		}, questions: forgottenQuestions()},
	}
}

const curl = "User-Agent: curl/8.0"

func whoQuestions() []question {
	return []question{
		{name: "nobody, open path", path: "/healthz"},
		{name: "nobody, metrics", path: "/metrics"},
		{name: "nobody, metrics, curl", path: "/metrics", headers: []string{curl}},
		{name: "nobody, indented by query", path: "/metrics?pretty=true"},
		{name: "nobody, not indented by query", path: "/metrics?pretty=0", headers: []string{curl}},
		{name: "nobody, YAML", path: "/metrics", headers: []string{"Accept: application/yaml"}},
		{name: "nobody, protobuf", path: "/metrics", headers: []string{"Accept: application/vnd.kubernetes.protobuf"}},
		{name: "nobody, best of several", path: "/metrics", headers: []string{"Accept: text/html;q=0.9, application/yaml;q=0.5, application/json;q=0.4"}},
		{name: "nobody, a form that is not there", path: "/metrics", headers: []string{"Accept: text/html"}},
		{name: "nobody, anything", path: "/metrics", headers: []string{"Accept: */*"}},
		{name: "nobody, indented by Accept", path: "/metrics", headers: []string{"Accept: application/json;pretty=1"}},
		{name: "nobody, as a Table", path: "/metrics", headers: []string{"Accept: application/json;as=Table;g=meta.k8s.io;v=v1"}},
		{name: "nobody, unknown path", path: "/nothing/here"},
		{name: "nobody, escaped path", path: "/a%3Cb%3E%26%22c%22%0A"},
		{name: "nobody, delete", method: "DELETE", path: "/metrics"},
		{name: "nobody, odd method", method: "BREW", path: "/metrics"},
		{name: "nobody, single check", path: "/livez/ping"},
		{name: "nobody, root", path: "/"},
		{name: "nobody, a resource's path", path: "/api/v1/pods"},
		{name: "open prefix", path: "/open/sesame"},
		{name: "open prefix itself", path: "/open"},
		{name: "master", cert: "master", path: "/livez/ping"},
		{name: "master, metrics", cert: "master", path: "/metrics", same: nothing},
		{name: "reader, allowed", cert: "reader", path: "/metrics", same: nothing},
		{name: "reader, other verb", cert: "reader", method: "PUT", path: "/metrics"},
		{name: "reader, other path", cert: "reader", path: "/debug/pprof/"},
		{name: "known, may nothing", cert: "nobody", path: "/metrics"},
		{name: "known, may nothing, YAML", cert: "nobody", path: "/metrics", headers: []string{"Accept: application/yaml"}},
		{name: "certificate without a name", cert: "nameless", path: "/metrics"},
		{name: "certificate of a server", cert: "server", path: "/metrics"},
		{name: "wrong authority", cert: "stranger", path: "/metrics"},
		{name: "wrong authority, open path", cert: "stranger", path: "/healthz"},
		{name: "wrong authority, YAML", cert: "stranger", path: "/healthz", headers: []string{"Accept: application/yaml"}},
		{name: "wrong authority, protobuf", cert: "stranger", path: "/healthz", headers: []string{"Accept: application/vnd.kubernetes.protobuf"}},
		{name: "expired", cert: "expired", path: "/metrics"},
		{name: "wrong token", token: "wrong", path: "/metrics"},
		{name: "wrong token, open path", token: "wrong", path: "/readyz"},
		{name: "good token", token: "scraper", path: "/metrics", same: nothing},
		{name: "good token again", token: "scraper", path: "/metrics", same: nothing},
		{name: "good token, lower case", path: "/metrics", headers: []string{"Authorization: bearer not-a-token"}},
		{name: "no token behind the word", path: "/metrics", headers: []string{"Authorization: Bearer "}},
		{name: "two spaces before the token", path: "/metrics", headers: []string{"Authorization: Bearer  not-a-token"}},
		{name: "another scheme", path: "/metrics", headers: []string{"Authorization: Basic YTpi"}},
		{name: "token that may nothing", token: "visitor", path: "/metrics"},
		{name: "good token beside a wrong certificate", token: "scraper", cert: "stranger", path: "/metrics", same: nothing},
		{name: "wrong token beside a good certificate", token: "wrong", cert: "reader", path: "/metrics", same: nothing},
		{name: "wrong token beside a wrong certificate", token: "wrong", cert: "expired", path: "/metrics"},
		{name: "impersonation means nothing", cert: "reader", path: "/debug/pprof/", headers: []string{"Impersonate-User: root", "Impersonate-Group: system:masters"}},
	}
}

func proxyQuestions() []question {
	user := func(name string, more ...string) []string { return append([]string{"X-Remote-User: " + name}, more...) }
	return []question{
		{name: "proxy for a master", cert: "proxy", path: "/livez/ping", headers: user("anna", "X-Remote-Group: system:masters")},
		{name: "proxy for a reader", cert: "proxy", path: "/metrics", headers: user("reader"), same: nothing},
		{name: "proxy for a stranger", cert: "proxy", path: "/metrics", headers: user("anna", "X-Remote-Group: a", "X-Remote-Group: b", "X-Remote-Extra-Scopes%2Fa: x")},
		{name: "proxy with a uid", cert: "proxy", path: "/metrics", headers: user("anna", "X-Remote-Uid: 17")},
		{name: "proxy for anonymous", cert: "proxy", path: "/metrics", headers: user("system:anonymous")},
		{name: "proxy without a user", cert: "proxy", path: "/metrics"},
		{name: "proxy without a user, open path", cert: "proxy", path: "/healthz"},
		{name: "proxy of another name", cert: "other-proxy", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers without a proxy", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers of a reader", cert: "reader", path: "/debug/pprof/", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers of a stranger", cert: "stranger", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
	}
}

func whatQuestions() []question {
	ask := func(name, path string) question { return question{name: name, path: path, cert: "master"} }
	return []question{
		ask("healthz", "/healthz"), ask("healthz verbose", "/healthz?verbose"), ask("healthz ping", "/healthz/ping"),
		ask("livez", "/livez"), ask("livez verbose", "/livez?verbose=true"), ask("livez ping", "/livez/ping"),
		ask("readyz verbose", "/readyz?verbose"), ask("readyz shutdown", "/readyz/shutdown"),
		ask("readyz handlers", "/readyz/sched-handler-sync"), ask("readyz election", "/readyz/leaderElection"),
		ask("readyz excluded", "/readyz?verbose&exclude=shutdown"), ask("readyz excludes the unknown", "/readyz?verbose&exclude=a&exclude=b<c>"),
		ask("unknown check", "/healthz/nothing"), ask("slash behind", "/healthz/"), ask("two slashes", "//healthz"),
		{name: "healthz by POST", method: "POST", path: "/healthz", cert: "master"},
		{name: "healthz by HEAD", method: "HEAD", path: "/healthz", cert: "master"},
		{name: "healthz by an odd method", method: "BREW", path: "/healthz", cert: "master"},
		ask("unknown path", "/nothing"), ask("root", "/"), ask("dots", "/healthz/../metrics"), ask("dashboard", "/api/v1/pods"),
		{name: "options", method: "OPTIONS", path: "/metrics", cert: "master", same: nothing},
		{name: "level by GET", path: "/debug/flags/v", cert: "master"},
		{name: "level", method: "PUT", path: "/debug/flags/v", body: "1", cert: "master"},
		{name: "level with a sign", method: "PUT", path: "/debug/flags/v", body: "+1", cert: "master"},
		{name: "level that is no number", method: "PUT", path: "/debug/flags/v", body: "much", cert: "master"},
		{name: "level that is nothing", method: "PUT", path: "/debug/flags/v", cert: "master"},
		{name: "level that is too large", method: "PUT", path: "/debug/flags/v", body: "99999999999", cert: "master"},
		{name: "level with a newline", method: "PUT", path: "/debug/flags/v", body: "2\n", cert: "master"},
		{name: "level back", method: "PUT", path: "/debug/flags/v", body: "0", cert: "master"},
		ask("flags", "/debug/flags"), ask("flags of any name", "/debug/flags/x"),
	}
}

func pageQuestions() []question {
	json := func(kind, version string) []string {
		return []string{"Accept: application/json;g=config.k8s.io;v=" + version + ";as=" + kind}
	}
	return []question{
		{name: "flagz", path: "/flagz", cert: "master", same: nothing},
		{name: "flagz, JSON", path: "/flagz", cert: "master", headers: json("Flagz", "v1beta1"), same: nothing},
		{name: "flagz, plain JSON", path: "/flagz", cert: "master", headers: []string{"Accept: application/json"}},
		{name: "statusz", path: "/statusz", cert: "master", same: names},
		{name: "statusz, text", path: "/statusz", cert: "master", headers: []string{"Accept: text/plain"}, same: names},
		{name: "statusz, anything", path: "/statusz", cert: "master", headers: []string{"Accept: */*"}, same: names},
		{name: "statusz, JSON", path: "/statusz", cert: "master", headers: json("Statusz", "v1beta1"), same: timeless},
		{name: "statusz, JSON of old", path: "/statusz", cert: "master", headers: json("Statusz", "v1alpha1"), same: timeless},
		{name: "statusz, indented", path: "/statusz", cert: "master", headers: append(json("Statusz", "v1beta1"), curl), same: timeless},
		{name: "statusz, YAML", path: "/statusz", cert: "master", headers: []string{"Accept: application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz"}, same: nothing},
		{name: "statusz, plain JSON", path: "/statusz", cert: "master", headers: []string{"Accept: application/json"}},
		{name: "statusz, HTML", path: "/statusz", cert: "master", headers: []string{"Accept: text/html"}},
		{name: "statusz, unknown version", path: "/statusz", cert: "master", headers: json("Statusz", "v7")},
		{name: "statusz, protobuf", path: "/statusz", cert: "master", headers: []string{"Accept: application/vnd.kubernetes.protobuf"}},
		{name: "pprof without slash", path: "/debug/pprof", cert: "master"},
		{name: "pprof index", path: "/debug/pprof/", cert: "master", same: nothing},
		{name: "pprof unknown", path: "/debug/pprof/nothing", cert: "master"},
		{name: "pprof command line", path: "/debug/pprof/cmdline", cert: "master"},
		{name: "pprof symbols", path: "/debug/pprof/symbol", cert: "master"},
		{name: "pprof CPU", path: "/debug/pprof/profile?seconds=1", cert: "master", same: nothing},
	}
}

func metricsQuestions() []question {
	get := func(name, path string, same func(string) string, headers ...string) question {
		return question{name: name, path: path, cert: "master", same: same, headers: headers}
	}
	auth := []string{"apiserver_delegated_", "authenticat", "authorization_", "apiserver_client_certificate"}
	return []question{
		get("metrics of authentication: families", "/metrics", families(auth...)),
		get("metrics of authentication: counts", "/metrics", series(false, "authenticated_user_requests", "authentication_attempts", "authorization_attempts_total")),
		get("metrics of reviews: series", "/metrics", series(false, "apiserver_delegated_", "authentication_token_cache", "authorization_duration", "authentication_duration", "apiserver_client_certificate")),
		get("metrics for Prometheus 3", "/metrics", nothing, "Accept: text/plain;version=0.0.4;escaping=allow-utf-8;q=0.5,*/*;q=0.1"),
		get("metrics, gzip", "/metrics", nothing, "Accept-Encoding: gzip"),
		get("metrics, no gzip", "/metrics", nothing, "Accept-Encoding: identity"),
		get("metrics, HTML", "/metrics", nothing, "Accept: text/html"),
		get("service levels: families", "/metrics/slis", families("kubernetes_", "process_start")),
		// Whether a check failed at the beginning is a matter of luck.
		get("service levels: series", "/metrics/slis", series(false, "kubernetes_healthcheck{")),
		get("resources of pods", "/metrics/resources", func(body string) string { return series(true, "kube_pod")(body) + families("kube_pod")(body) }),
		{name: "metrics reset", method: "DELETE", path: "/metrics", cert: "master"},
		{name: "service levels reset", method: "DELETE", path: "/metrics/slis", cert: "master"},
		{name: "resources reset", method: "DELETE", path: "/metrics/resources", cert: "master"},
		{name: "metrics by POST", method: "POST", path: "/metrics", cert: "master", same: nothing},
		{name: "prime a token that may read", token: "scraper", path: "/metrics/slis", same: nothing},
		{name: "prime a token that may not", token: "visitor", path: "/metrics/slis"},
	}
}

// electedQuestions are about what an election changes.
func electedQuestions(who string) (questions []question) {
	ask := func(path string, same func(string) string) {
		questions = append(questions, question{name: strings.TrimPrefix(who, "-") + ": " + path, path: path, cert: "master", same: same})
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		ask(path, nil)
		ask(path+"?verbose", nil)
	}
	ask("/healthz/leaderElection", nil)
	ask("/readyz/leaderElection", nil)
	ask("/healthz?verbose&exclude=leaderElection", nil)
	// The counter of slow renewals is there from the beginning with berth, and with kube-scheduler after the first.
	ask("/metrics", func(body string) string {
		return families("leader_election_master")(body) + "\n" + series(true, "leader_election_master")(body)
	})
	ask("/metrics/slis", series(false, "kubernetes_healthcheck{"))
	ask("/metrics/resources", func(body string) string { return series(true, "kube_pod")(body) + families("kube_pod")(body) })
	ask("/statusz", names)
	return questions
}

func awayQuestions() []question {
	return []question{
		{name: "away: remembered token", token: "scraper", path: "/metrics/slis", same: nothing},
		{name: "away: remembered refusal", token: "visitor", path: "/metrics/slis"},
		{name: "away: unknown token", token: "late", path: "/metrics"},
		{name: "away: unknown token, open path", token: "late", path: "/healthz"},
		{name: "away: nobody, open path", path: "/healthz"},
		{name: "away: nobody", path: "/statusz", same: upToError},
		{name: "away: nobody, name with a quote", path: "/a%22%3Cb", same: upToError},
		{name: "away: master", cert: "master", path: "/livez/ping"},
		{name: "away: reader", cert: "reader", path: "/statusz", same: upToError},
		{name: "away: proxy for a master", cert: "proxy", path: "/livez/ping", headers: []string{"X-Remote-User: anna", "X-Remote-Group: system:masters"}},
	}
}

func forgottenQuestions() []question {
	return []question{
		{name: "forgotten: token", token: "scraper", path: "/metrics/slis"},
		{name: "forgotten: master still comes in", cert: "master", path: "/healthz/ping"},
	}
}
