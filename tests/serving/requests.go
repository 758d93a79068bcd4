package main

import (
	"context"
	"strings"
	"time"
)

// steps are the requests, in order.
func steps(s *stage) []step {
	return []step{
		{name: "authentication", requests: authenticationRequests()},
		{name: "proxy", requests: proxyRequests()},
		{name: "endpoints", requests: endpointRequests()},
		{name: "pages", requests: pageRequests()},
		{name: "metrics", requests: metricsRequests()},
		{name: "leads", before: s.elect, pair: leading, requests: electedRequests(leading)},
		{name: "stands by", pair: standingBy, requests: electedRequests(standingBy)},
		{name: "trusted", before: s.trustUntrusted, requests: []request{
			{name: "trusted: untrusted before", cert: "untrusted", path: "/livez/ping"},
			{name: "trusted: still expired", cert: "expired", path: "/livez/ping"},
			{name: "trusted: still a master", cert: "master", path: "/livez/ping"},
		}},
		// Token reviews are cached for ten seconds, so these two are still in the cache.
		{name: "unavailable", before: func(context.Context) error {
			s.APIServer.Kill()
			return nil
		}, requests: unavailableRequests()},
		// By then the caches have expired.
		{name: "caches expired", before: func(ctx context.Context) error {
			time.Sleep(11 * time.Second)
			return nil
		}, requests: expiredRequests()},
	}
}

const curl = "User-Agent: curl/8.0"

func authenticationRequests() []request {
	return []request{
		{name: "anonymous, open path", path: "/healthz"},
		{name: "anonymous, metrics", path: "/metrics"},
		{name: "anonymous, metrics, curl", path: "/metrics", headers: []string{curl}},
		{name: "anonymous, indented by query", path: "/metrics?pretty=true"},
		{name: "anonymous, not indented by query", path: "/metrics?pretty=0", headers: []string{curl}},
		{name: "anonymous, YAML", path: "/metrics", headers: []string{"Accept: application/yaml"}},
		{name: "anonymous, protobuf", path: "/metrics", headers: []string{"Accept: application/vnd.kubernetes.protobuf"}},
		{name: "anonymous, best of several", path: "/metrics", headers: []string{"Accept: text/html;q=0.9, application/yaml;q=0.5, application/json;q=0.4"}},
		{name: "anonymous, a form that is not there", path: "/metrics", headers: []string{"Accept: text/html"}},
		{name: "anonymous, anything", path: "/metrics", headers: []string{"Accept: */*"}},
		{name: "anonymous, indented by Accept", path: "/metrics", headers: []string{"Accept: application/json;pretty=1"}},
		{name: "anonymous, as a Table", path: "/metrics", headers: []string{"Accept: application/json;as=Table;g=meta.k8s.io;v=v1"}},
		{name: "anonymous, unknown path", path: "/nothing/here"},
		{name: "anonymous, escaped path", path: "/a%3Cb%3E%26%22c%22%0A"},
		{name: "anonymous, delete", method: "DELETE", path: "/metrics"},
		{name: "anonymous, unknown method", method: "BREW", path: "/metrics"},
		{name: "anonymous, single check", path: "/livez/ping"},
		{name: "anonymous, root", path: "/"},
		{name: "anonymous, a resource's path", path: "/api/v1/pods"},
		{name: "open prefix", path: "/open/sesame"},
		{name: "open prefix itself", path: "/open"},
		{name: "master", cert: "master", path: "/livez/ping"},
		{name: "master, metrics", cert: "master", path: "/metrics", same: nothing},
		{name: "reader, allowed", cert: "reader", path: "/metrics", same: nothing},
		{name: "reader, other verb", cert: "reader", method: "PUT", path: "/metrics"},
		{name: "reader, other path", cert: "reader", path: "/debug/pprof/"},
		{name: "without permissions", cert: "no-permissions", path: "/metrics"},
		{name: "without permissions, YAML", cert: "no-permissions", path: "/metrics", headers: []string{"Accept: application/yaml"}},
		{name: "certificate without a name", cert: "nameless", path: "/metrics"},
		{name: "certificate of a server", cert: "server", path: "/metrics"},
		{name: "wrong authority", cert: "untrusted", path: "/metrics"},
		{name: "wrong authority, open path", cert: "untrusted", path: "/healthz"},
		{name: "wrong authority, YAML", cert: "untrusted", path: "/healthz", headers: []string{"Accept: application/yaml"}},
		{name: "wrong authority, protobuf", cert: "untrusted", path: "/healthz", headers: []string{"Accept: application/vnd.kubernetes.protobuf"}},
		{name: "expired", cert: "expired", path: "/metrics"},
		{name: "wrong token", token: "wrong", path: "/metrics"},
		{name: "wrong token, open path", token: "wrong", path: "/readyz"},
		{name: "good token", token: "scraper", path: "/metrics", same: nothing},
		{name: "good token again", token: "scraper", path: "/metrics", same: nothing},
		{name: "good token, lower case", path: "/metrics", headers: []string{"Authorization: bearer not-a-token"}},
		{name: "no token after the scheme", path: "/metrics", headers: []string{"Authorization: Bearer "}},
		{name: "two spaces before the token", path: "/metrics", headers: []string{"Authorization: Bearer  not-a-token"}},
		{name: "another scheme", path: "/metrics", headers: []string{"Authorization: Basic YTpi"}},
		{name: "token without permissions", token: "visitor", path: "/metrics"},
		{name: "good token beside a wrong certificate", token: "scraper", cert: "untrusted", path: "/metrics", same: nothing},
		{name: "wrong token beside a good certificate", token: "wrong", cert: "reader", path: "/metrics", same: nothing},
		{name: "wrong token beside a wrong certificate", token: "wrong", cert: "expired", path: "/metrics"},
		{name: "impersonation is ignored", cert: "reader", path: "/debug/pprof/", headers: []string{"Impersonate-User: root", "Impersonate-Group: system:masters"}},
	}
}

func proxyRequests() []request {
	user := func(name string, more ...string) []string { return append([]string{"X-Remote-User: " + name}, more...) }
	return []request{
		{name: "proxy for a master", cert: "proxy", path: "/livez/ping", headers: user("anna", "X-Remote-Group: system:masters")},
		{name: "proxy for a reader", cert: "proxy", path: "/metrics", headers: user("reader"), same: nothing},
		{name: "proxy for an unknown user", cert: "proxy", path: "/metrics", headers: user("anna", "X-Remote-Group: a", "X-Remote-Group: b", "X-Remote-Extra-Scopes%2Fa: x")},
		{name: "proxy with a uid", cert: "proxy", path: "/metrics", headers: user("anna", "X-Remote-Uid: 17")},
		{name: "proxy for anonymous", cert: "proxy", path: "/metrics", headers: user("system:anonymous")},
		{name: "proxy without a user", cert: "proxy", path: "/metrics"},
		{name: "proxy without a user, open path", cert: "proxy", path: "/healthz"},
		{name: "proxy of another name", cert: "other-proxy", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers without a proxy", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers of a reader", cert: "reader", path: "/debug/pprof/", headers: user("root", "X-Remote-Group: system:masters")},
		{name: "headers of an untrusted client", cert: "untrusted", path: "/metrics", headers: user("root", "X-Remote-Group: system:masters")},
	}
}

func endpointRequests() []request {
	send := func(name, path string) request { return request{name: name, path: path, cert: "master"} }
	return []request{
		send("healthz", "/healthz"), send("healthz verbose", "/healthz?verbose"), send("healthz ping", "/healthz/ping"),
		send("livez", "/livez"), send("livez verbose", "/livez?verbose=true"), send("livez ping", "/livez/ping"),
		send("readyz verbose", "/readyz?verbose"), send("readyz shutdown", "/readyz/shutdown"),
		send("readyz handlers", "/readyz/sched-handler-sync"), send("readyz election", "/readyz/leaderElection"),
		send("readyz excluded", "/readyz?verbose&exclude=shutdown"), send("readyz excludes the unknown", "/readyz?verbose&exclude=a&exclude=b<c>"),
		send("unknown check", "/healthz/nothing"), send("slash behind", "/healthz/"), send("two slashes", "//healthz"),
		{name: "healthz by POST", method: "POST", path: "/healthz", cert: "master"},
		{name: "healthz by HEAD", method: "HEAD", path: "/healthz", cert: "master"},
		{name: "healthz by an unknown method", method: "BREW", path: "/healthz", cert: "master"},
		send("unknown path", "/nothing"), send("root", "/"), send("dots", "/healthz/../metrics"), send("dashboard", "/api/v1/pods"),
		{name: "options", method: "OPTIONS", path: "/metrics", cert: "master", same: nothing},
		{name: "level by GET", path: "/debug/flags/v", cert: "master"},
		{name: "level", method: "PUT", path: "/debug/flags/v", body: "1", cert: "master"},
		{name: "level with a sign", method: "PUT", path: "/debug/flags/v", body: "+1", cert: "master"},
		{name: "level that is no number", method: "PUT", path: "/debug/flags/v", body: "much", cert: "master"},
		{name: "level that is nothing", method: "PUT", path: "/debug/flags/v", cert: "master"},
		{name: "level that is too large", method: "PUT", path: "/debug/flags/v", body: "99999999999", cert: "master"},
		{name: "level with a newline", method: "PUT", path: "/debug/flags/v", body: "2\n", cert: "master"},
		{name: "level back", method: "PUT", path: "/debug/flags/v", body: "0", cert: "master"},
		send("flags", "/debug/flags"), send("flags of any name", "/debug/flags/x"),
	}
}

func pageRequests() []request {
	json := func(kind, version string) []string {
		return []string{"Accept: application/json;g=config.k8s.io;v=" + version + ";as=" + kind}
	}
	return []request{
		{name: "configz", path: "/configz", cert: "master", same: configuration},
		{name: "flagz", path: "/flagz", cert: "master", same: flags},
		{name: "flagz, JSON", path: "/flagz", cert: "master", headers: json("Flagz", "v1beta1"), same: flags},
		{name: "flagz, YAML", path: "/flagz", cert: "master", headers: []string{"Accept: application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz"}, same: flags},
		{name: "flagz, plain JSON", path: "/flagz", cert: "master", headers: []string{"Accept: application/json"}},
		{name: "statusz", path: "/statusz", cert: "master", same: timeless},
		{name: "statusz, text", path: "/statusz", cert: "master", headers: []string{"Accept: text/plain"}, same: timeless},
		{name: "statusz, anything", path: "/statusz", cert: "master", headers: []string{"Accept: */*"}, same: timeless},
		{name: "statusz, JSON", path: "/statusz", cert: "master", headers: json("Statusz", "v1beta1"), same: timeless},
		{name: "statusz, JSON of old", path: "/statusz", cert: "master", headers: json("Statusz", "v1alpha1"), same: timeless},
		{name: "statusz, indented", path: "/statusz", cert: "master", headers: append(json("Statusz", "v1beta1"), curl), same: timeless},
		{name: "statusz, YAML", path: "/statusz", cert: "master", headers: []string{"Accept: application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz"}, same: timeless},
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

func metricsRequests() []request {
	get := func(name, path string, same func(string) string, headers ...string) request {
		return request{name: name, path: path, cert: "master", same: same, headers: headers}
	}
	auth := []string{"apiserver_delegated_", "authenticat", "authorization_", "apiserver_client_certificate"}
	return []request{
		get("metrics of authentication: families", "/metrics", families(auth...)),
		get("metrics of authentication: counts", "/metrics", series(false, "authenticated_user_requests", "authentication_attempts", "authorization_attempts_total")),
		get("metrics of reviews: series", "/metrics", series(false, "apiserver_delegated_", "authentication_token_cache", "authorization_duration", "authentication_duration", "apiserver_client_certificate")),
		get("metrics for Prometheus 3", "/metrics", nothing, "Accept: text/plain;version=0.0.4;escaping=allow-utf-8;q=0.5,*/*;q=0.1"),
		get("metrics, gzip", "/metrics", nothing, "Accept-Encoding: gzip"),
		get("metrics, no gzip", "/metrics", nothing, "Accept-Encoding: identity"),
		get("metrics, HTML", "/metrics", nothing, "Accept: text/html"),
		get("service levels: families", "/metrics/slis", families("kubernetes_", "process_start")),
		// Whether a check failed at the beginning varies.
		get("service levels: series", "/metrics/slis", series(false, "kubernetes_healthcheck{")),
		get("resources of pods", "/metrics/resources", nil),
		{name: "metrics reset", method: "DELETE", path: "/metrics", cert: "master"},
		{name: "service levels reset", method: "DELETE", path: "/metrics/slis", cert: "master"},
		{name: "resources reset", method: "DELETE", path: "/metrics/resources", cert: "master"},
		{name: "metrics by POST", method: "POST", path: "/metrics", cert: "master", same: nothing},
		{name: "prime a token that may read", token: "scraper", path: "/metrics/slis", same: nothing},
		{name: "prime a token that may not", token: "visitor", path: "/metrics/slis"},
	}
}

// electedRequests depend on the result of the leader election.
func electedRequests(role string) (requests []request) {
	send := func(path string, same func(string) string) {
		requests = append(requests, request{name: strings.TrimPrefix(role, "-") + ": " + path, path: path, cert: "master", same: same})
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		send(path, nil)
		send(path+"?verbose", nil)
	}
	send("/healthz/leaderElection", nil)
	send("/readyz/leaderElection", nil)
	send("/healthz?verbose&exclude=leaderElection", nil)
	// Berth has the counter of slow renewals from the beginning, kube-scheduler after the first one.
	send("/metrics", func(body string) string {
		return families("leader_election_master")(body) + "\n" + series(true, "leader_election_master")(body)
	})
	send("/metrics/slis", series(false, "kubernetes_healthcheck{"))
	send("/metrics/resources", nil)
	send("/statusz", timeless)
	return requests
}

func unavailableRequests() []request {
	return []request{
		{name: "unavailable: remembered token", token: "scraper", path: "/metrics/slis", same: nothing},
		{name: "unavailable: remembered refusal", token: "visitor", path: "/metrics/slis"},
		{name: "unavailable: unknown token", token: "late", path: "/metrics"},
		{name: "unavailable: unknown token, open path", token: "late", path: "/healthz"},
		{name: "unavailable: anonymous, open path", path: "/healthz"},
		{name: "unavailable: anonymous", path: "/statusz", same: upToError},
		{name: "unavailable: anonymous, name with a quote", path: "/a%22%3Cb", same: upToError},
		{name: "unavailable: master", cert: "master", path: "/livez/ping"},
		{name: "unavailable: reader", cert: "reader", path: "/statusz", same: upToError},
		{name: "unavailable: proxy for a master", cert: "proxy", path: "/livez/ping", headers: []string{"X-Remote-User: anna", "X-Remote-Group: system:masters"}},
	}
}

func expiredRequests() []request {
	return []request{
		{name: "expired caches: token", token: "scraper", path: "/metrics/slis"},
		{name: "expired caches: master still comes in", cert: "master", path: "/healthz/ping"},
	}
}
