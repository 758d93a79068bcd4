package main

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// delay of the webhook.
const delay = 5 * time.Second

// webhook makes the bindings of the tenant's pods slow: a validating webhook answers each after seconds. The requests of
// the scheduler are open meanwhile.
func webhook(ctx context.Context, v *victim) error {
	authority, err := controlplane.NewAuthority()
	if err != nil {
		return err
	}
	address, stop, err := serveSlowly(authority)
	if err != nil {
		return err
	}
	defer stop()
	none, fail, seconds := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, int32(30)
	name, url := "slow.example.com", "https://"+address
	configurations := v.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := configurations.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:              name,
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority.PEM},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelMetadataName: v.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}},
			}},
			SideEffects: &none, FailurePolicy: &fail, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	// The API server reads the configuration from a watch.
	if err := controlplane.Pause(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := v.create(ctx, scaled(v.o.scale, 1000, 50), func(i int) *v1.Pod { return tenantPod(fmt.Sprintf("slow-%d", i)) }); err != nil {
		return err
	}
	if err := controlplane.Pause(ctx, delay+time.Duration(v.o.scale*float64(2*delay))); err != nil {
		return err
	}
	return configurations.Delete(ctx, name, metav1.DeleteOptions{})
}

// serveSlowly starts a webhook that allows everything after a delay.
func serveSlowly(authority *controlplane.Authority) (address string, stop func(), err error) {
	pair, err := authority.Sign(pkix.Name{CommonName: "webhook"}, true)
	if err != nil {
		return "", nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
			var review admissionv1.AdmissionReview
			if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Request == nil {
				http.Error(out, "expected an AdmissionReview", http.StatusBadRequest)
				return
			}
			if controlplane.Pause(request.Context(), delay) != nil {
				return
			}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
			review.Request = nil
			out.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(out).Encode(review)
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return listener.Addr().String(), func() { _ = server.Close() }, nil
}
