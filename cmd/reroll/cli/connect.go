package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/reloader/kube"
)

// The environment of the command line.
const (
	serverVariable = "REROLL_SERVER"
	tokenVariable  = "REROLL_TOKEN"
)

const defaultServer = "http://127.0.0.1:8080"

const requestTime = 30 * time.Second

// session is one run of a command that asks Reroll's API.
type session struct {
	context.Context
	*client
	*globals
	cmd *cobra.Command
	now time.Time
	// forwarded says that the API is reached by a port-forward, which end closes.
	forwarded bool
	end       func()
}

func (g *globals) asking(cmd *cobra.Command, do func(s *session) error) error {
	s, err := g.open(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	defer s.end()
	return do(s)
}

// open connects to the API. The caller ends the session.
func (g *globals) open(ctx context.Context, cmd *cobra.Command) (*session, error) {
	s := &session{Context: ctx, globals: g, cmd: cmd, now: time.Now(), end: func() {}}
	address, err := s.address()
	if err == nil {
		s.client, err = g.client(address)
	}
	if err == nil && s.forwarded {
		// The tunnel ends in the pod, and the Kubernetes API server has authenticated it. The certificate is for another name.
		config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec
		if other, err := tls.DialWithDialer(&net.Dialer{Timeout: requestTime}, "tcp", s.base.Host, config); err == nil {
			_ = other.Close() // it has shown that the other end speaks TLS
			s.base.Scheme, s.http.Transport.(*http.Transport).TLSClientConfig = "https", config
		}
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// address returns the API's address: that of --server or the environment, or a port-forward through the kubeconfig's context. Without a context,
// as in a pod of Reroll, it is this machine.
func (s *session) address() (string, error) {
	variable := os.Getenv(serverVariable)
	switch named := s.kubeconfig != "" || s.context != ""; {
	case s.server != "":
		return s.server, nil
	case !named && variable != "":
		return variable, nil
	case !named && !kube.HasContext():
		return defaultServer, nil
	}
	address, end, err := kube.Forward(s, kube.Options{Kubeconfig: s.kubeconfig, Context: s.globals.context, Namespace: s.own, UserAgent: s.userAgent()})
	if err != nil {
		return "", fmt.Errorf("reach Reroll through the cluster: %w", err)
	}
	s.end, s.forwarded = end, true
	return "http://" + address, nil
}

func (g *globals) userAgent() string { return "reroll/" + g.version }

func (g *globals) client(address string) (*client, error) {
	base, err := parseServer(address)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(os.Getenv(tokenVariable))
	if token != "" && base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("the token would cross the network in clear to %s: use https", base.Redacted())
	}
	return &client{base: base, token: token, agent: g.userAgent(), http: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects, which Reroll's API never does")
		},
	}}, nil
}

func parseServer(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usagef("--server: %q is not an address such as %s", address, defaultServer)
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimRight(base.Path, "/"), "", ""
	return base, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// connect connects to the Kubernetes API with the user's rights.
func (g *globals) connect(ctx context.Context, keep func(key string) bool, scope kube.Scope) (*kube.Cluster, error) {
	if keep == nil {
		keep = func(string) bool { return false }
	}
	return kube.Connect(ctx, kube.Options{
		Kubeconfig: g.kubeconfig, Context: g.context, Namespace: g.own, QPS: 50, Burst: 100, UserAgent: g.userAgent(), KeepAnnotation: keep, Scope: scope,
	})
}

// warn prints what an answer may lack.
func warn(cmd *cobra.Command, warnings []string) {
	for _, warning := range warnings {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning:", printable(warning))
	}
}
