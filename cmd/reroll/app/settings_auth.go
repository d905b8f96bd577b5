package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/auth"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// The ways in which clients of the API can prove who they are. authNone is none, for a loopback address; authAnonymous is none on any
// address.
const (
	authNone          = "none"
	authAnonymous     = "anonymous"
	authToken         = "token"
	authMTLS          = "mtls"
	authRequestHeader = "request-header"
)

// Auth says who may use the API.
type Auth struct {
	Modes      []string
	Audiences  []string
	ClientCA   string
	ProxyCA    string
	ProxyNames []string
	// TLSCert and TLSKey are the files of the API's own certificate.
	TLSCert, TLSKey string
	// InsecureHTTP lets tokens come over plain HTTP from elsewhere.
	InsecureHTTP bool
	// Hosts are names of the server by which anybody may ask for it.
	Hosts []string
	// RedactActors keeps the names and addresses of people out of all that is stored.
	RedactActors bool
}

func (a *Auth) bind(f *pflag.FlagSet) {
	f.StringSliceVar(&a.Modes, "auth", []string{authNone}, "how clients of the API prove who they are: token (of the API server), mtls and request-header (of a proxy), several of them separated by commas; none is for a loopback address, and anonymous lets everybody read on any")
	f.StringSliceVar(&a.Audiences, "auth-audiences", nil, "audiences of which a token must have one, separated by commas; those of the API server if empty")
	f.StringVar(&a.ClientCA, "auth-client-ca", "", "for mtls: file of the CAs of client certificates, whose common name is the user and whose organisations are the groups")
	f.StringVar(&a.ProxyCA, "auth-request-header-client-ca", "", "for request-header: file of the CAs of the proxies' certificates; they say who asks in X-Remote-User and X-Remote-Group")
	f.StringSliceVar(&a.ProxyNames, "auth-request-header-allowed-names", nil, "for request-header: common names of the proxies' certificates, separated by commas")
	f.StringVar(&a.TLSCert, "api-tls-cert", "", "file of the API's certificate; plain HTTP if empty")
	f.StringVar(&a.TLSKey, "api-tls-key", "", "file of the key of the API's certificate")
	f.BoolVar(&a.InsecureHTTP, "api-insecure-http", false, "accept tokens over plain HTTP on an address that other machines reach, for an API behind something that encrypts")
	f.StringSliceVar(&a.Hosts, "api-hosts", nil, "names of the API for --auth=none and anonymous, separated by commas, besides addresses, localhost and, for anonymous, names of clusters and local networks: others may be those of a web page")
}

// on reports whether clients prove who they are.
func (a *Auth) on() bool {
	return a.has(authToken) || a.has(authMTLS) || a.has(authRequestHeader)
}

func (a *Auth) has(mode string) bool { return slices.Contains(a.Modes, mode) }

// check finds what does not fit together, for an API at address.
func (a *Auth) check(address string) error {
	if len(a.Modes) == 0 {
		a.Modes = []string{authNone}
	}
	for _, mode := range a.Modes {
		if !slices.Contains([]string{authNone, authAnonymous, authToken, authMTLS, authRequestHeader}, mode) {
			return fmt.Errorf("--auth: %q is not %s, %s, %s, %s or %s", mode, authToken, authMTLS, authRequestHeader, authNone, authAnonymous)
		}
	}
	if len(a.Modes) > 1 && (a.has(authNone) || a.has(authAnonymous)) {
		return fmt.Errorf("--auth=%s: %s and %s stand alone", strings.Join(a.Modes, ","), authNone, authAnonymous)
	}
	if (a.TLSCert == "") != (a.TLSKey == "") {
		return errors.New("--api-tls-cert and --api-tls-key belong together")
	}
	if a.has(authNone) && !loopback(address) {
		return fmt.Errorf("--api-address=%s can be reached from elsewhere, and --auth=none tells nobody apart: choose --auth=token, mtls or request-header; "+
			"or --auth=anonymous if everybody who reaches it may read everything", address)
	}
	if a.has(authToken) && a.TLSCert == "" && !a.InsecureHTTP && !loopback(address) {
		return fmt.Errorf("--api-address=%s can be reached from elsewhere, and tokens would cross the network in clear: set --api-tls-cert and --api-tls-key, "+
			"or --api-insecure-http if something in front of it encrypts", address)
	}
	if len(a.Hosts) > 0 && a.on() {
		return errors.New("--api-hosts has no effect where clients prove who they are: remove it")
	}
	for i, host := range a.Hosts {
		a.Hosts[i] = strings.ToLower(strings.TrimSuffix(host, "."))
	}
	return errors.Join(a.checkCertificates(), a.checkAudiences())
}

func (a *Auth) checkAudiences() error {
	if len(a.Audiences) > 0 && !a.has(authToken) {
		return errors.New("--auth-audiences needs --auth=token")
	}
	return nil
}

func (a *Auth) checkCertificates() error {
	switch {
	case a.has(authMTLS) != (a.ClientCA != ""):
		return errors.New("--auth=mtls and --auth-client-ca need each other")
	case a.has(authRequestHeader) != (a.ProxyCA != ""):
		return errors.New("--auth=request-header and --auth-request-header-client-ca need each other")
	case a.has(authRequestHeader) != (len(a.ProxyNames) > 0):
		return errors.New("--auth=request-header and --auth-request-header-allowed-names need each other: whoever has another certificate of that CA is no proxy")
	case (a.has(authMTLS) || a.has(authRequestHeader)) && a.TLSCert == "":
		return errors.New("--auth=mtls and request-header need --api-tls-cert and --api-tls-key: certificates are shown over TLS alone")
	}
	return nil
}

// hosts says by which names requests may call the API.
func (a *Auth) hosts() api.Hosts {
	switch {
	case a.has(authNone):
		return api.LocalHosts
	case a.has(authAnonymous):
		return api.PrivateHosts
	}
	return api.AnyHost
}

// loopback reports whether an address can be reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// warning says what is dangerous about the settings although it can be meant; empty if nothing is.
func (a *Auth) warning(address string) string {
	switch {
	case a.has(authAnonymous) && !loopback(address):
		return "--auth=anonymous: everybody who reaches " + address + " may read everything"
	case a.has(authToken) && a.TLSCert == "" && !loopback(address):
		return "--auth=token without --api-tls-cert: tokens reach " + address + " in clear unless somebody else encrypts them"
	}
	return ""
}

// gate returns what judges requests to the API. It asks the API server that the dispatcher would talk to.
func (s *Settings) gate(version string) (*auth.Gate, error) {
	config, err := kube.Config(kube.Options{Kubeconfig: s.Kubeconfig, Context: s.Context, UserAgent: "reroll/" + version})
	if err != nil {
		return nil, fmt.Errorf("--auth needs an API server: %w", err)
	}
	return auth.New(auth.Options{
		API: config, Tokens: s.Auth.has(authToken), Audiences: s.Auth.Audiences,
		ClientCAFile: s.Auth.ClientCA, ProxyCAFile: s.Auth.ProxyCA, ProxyNames: s.Auth.ProxyNames,
	})
}
