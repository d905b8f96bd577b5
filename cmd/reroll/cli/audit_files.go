package cli

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/cmd/reroll/certificate"
	"github.com/reroll-dev/reroll/cmd/reroll/distribution"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// auditFiles are in the making: from a release, to an API server.
type auditFiles struct {
	setup   *auditSetup
	from    kube.Ingest
	to      distribution.Distribution
	content distribution.Content
	server  string
	// trusted are the certificates that the ingest's own is signed by, in PEM.
	trusted  []byte
	client   issued
	token    []byte
	files    []auditFile
	warnings []string
}

// takeRelease takes over what the release says, and how the API server proves whose events it posts.
func (a *auditFiles) takeRelease() error {
	s := a.setup
	a.content.Release, a.content.Namespace = a.from.Release, a.from.Namespace
	a.content.Ingest = net.JoinHostPort(a.host(), strconv.Itoa(int(a.from.Port)))
	a.content.Cluster = firstOf(s.cluster, a.from.Cluster)
	if a.content.Cluster == "" {
		return Usage(errors.New("the pods of the release do not say the cluster's name: give it with --cluster, as in --cluster-name of its dispatcher"))
	}
	if err := reloader.ValidateCluster(a.content.Cluster); err != nil {
		return fmt.Errorf("the name of the cluster: %w", err)
	}
	if s.cluster != "" && a.from.Cluster != "" && s.cluster != a.from.Cluster {
		a.warnings = append(a.warnings, fmt.Sprintf("the release calls its cluster %s, and not %s: events of %[2]s are not for its dispatcher", a.from.Cluster, s.cluster))
	}
	if err := a.chooseServer(); err != nil {
		return err
	}
	return a.prove()
}

// host is the name of the ingest's Service, which its certificate has.
func (a *auditFiles) host() string { return a.from.Service + "." + a.from.Namespace + ".svc" }

// chooseServer finds an address of the ingest that the API server reaches: it does not resolve names of Services.
func (a *auditFiles) chooseServer() error {
	address := func(host string, port int32) string {
		return "https://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	switch {
	case a.setup.server != "" || a.to.Dir == "":
		a.server = a.setup.server
	case a.from.Type == corev1.ServiceTypeLoadBalancer && len(a.from.Balancers) == 0:
		return fmt.Errorf("the load balancer of Service %s/%s has no address yet: wait for it, or give --address", a.from.Namespace, a.from.Service)
	case a.from.Type == corev1.ServiceTypeLoadBalancer:
		a.server = address(a.from.Balancers[0], a.from.Port)
	case a.to.Name == "k0s":
		if a.from.Type != corev1.ServiceTypeNodePort {
			return errors.New("a controller of k0s reaches no ClusterIP: set ingest.service.type=NodePort in the chart's values, and give --address https://WORKER:PORT")
		}
		return fmt.Errorf("a controller of k0s reaches the NodePort of a worker: give --address https://WORKER:%d", a.from.NodePort)
	case a.from.Type == corev1.ServiceTypeNodePort:
		a.server = address("127.0.0.1", a.from.NodePort)
		a.warnings = append(a.warnings, "the NodePort is reached by way of 127.0.0.1, which kube-proxy in mode nftables does not serve: give --address with the address of a node there")
	case a.from.ClusterIP == "":
		return fmt.Errorf("the Service %s/%s has no address yet: wait for it, or give --address", a.from.Namespace, a.from.Service)
	default:
		a.server = address(a.from.ClusterIP, a.from.Port)
	}
	return nil
}

// prove makes or finds what proves to the ingest whose events they are, and what proves to the API server that it is the ingest.
func (a *auditFiles) prove() error {
	s, now := a.setup, a.setup.now()
	switch {
	case s.token != "":
		return a.useToken()
	case s.caCert != "":
		certificates, err := readFile(s.caCert)
		if err != nil {
			return fmt.Errorf("--ca-cert: %w", err)
		}
		key, err := readFile(s.caKey)
		if err != nil {
			return fmt.Errorf("--ca-key: %w", err)
		}
		return a.issue(certificates, key, "--ca-cert, --ca-key", now)
	case a.from.CA.Data != nil:
		return a.issue(a.from.CA.Data[certKey], a.from.CA.Data[keyKey], "Secret "+a.from.Namespace+"/"+a.from.CA.Secret, now)
	case a.from.Client.Data != nil:
		return a.useIssued(now)
	}
	return fmt.Errorf("there is no Secret %s/%s: the release has a certificate of yours. Either give the CA that has signed it, with --ca-cert FILE --ca-key FILE, "+
		"or a token of its ingest.tokenFile with --token-file FILE", a.from.Namespace, a.from.CA.Secret)
}

// issue makes the client certificate by a CA.
func (a *auditFiles) issue(certificates, key []byte, origin string, now time.Time) error {
	ca, err := parseAuthority(certificates, key, now)
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if a.client, err = ca.issueClient(a.content.Cluster, a.setup.lifetime, now); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if a.client.until.Before(now.Add(a.setup.lifetime)) {
		a.warnings = append(a.warnings, "the client certificate ends with the CA, on "+exactly(a.client.until))
	}
	a.trusted = ca.trusted
	return nil
}

// useIssued takes the certificate that cert-manager has made.
func (a *auditFiles) useIssued(now time.Time) error {
	data, origin := a.from.Client.Data, "Secret "+a.from.Namespace+"/"+a.from.Client.Secret
	client, err := certificate.ParsePEM(data[certKey], maxAuthorities)
	if err == nil {
		_, err = parseKey(data[keyKey])
	}
	if err == nil {
		a.trusted = data[caKey]
		_, err = certificate.ParsePEM(a.trusted, maxAuthorities)
	}
	if err != nil {
		return fmt.Errorf("%s, with %s, %s and %s: %w", origin, certKey, keyKey, caKey, err)
	}
	if names := append(slices.Clone(client[0].DNSNames), client[0].Subject.CommonName); !slices.Contains(names, a.content.Cluster+auditDomain) {
		return fmt.Errorf("%s: the certificate is not for %s%s", origin, a.content.Cluster, auditDomain)
	}
	if now.After(client[0].NotAfter) {
		return fmt.Errorf("%s: the certificate has expired on %s", origin, exactly(client[0].NotAfter))
	}
	a.client = issued{data[certKey], data[keyKey], client[0].NotAfter}
	return nil
}

// useToken takes a token, and the CA that was given or that the release says.
func (a *auditFiles) useToken() error {
	token, err := readFile(a.setup.token)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	if a.token = []byte(strings.TrimSpace(string(token))); len(a.token) == 0 || strings.ContainsAny(string(a.token), " \n:") {
		return fmt.Errorf("--token-file: %s is not a token alone: it is what follows the colon in the line of the cluster", a.setup.token)
	}
	switch {
	case a.setup.caCert != "":
		if a.trusted, err = readFile(a.setup.caCert); err != nil {
			return fmt.Errorf("--ca-cert: %w", err)
		}
	case a.from.CA.Data != nil:
		a.trusted = a.from.CA.Data[certKey]
	default:
		a.trusted = a.from.Serving.Data[caKey]
	}
	if _, err := certificate.ParsePEM(a.trusted, maxAuthorities); err != nil {
		return fmt.Errorf("the CA of the ingest: %w: give it with --ca-cert FILE", err)
	}
	return nil
}

// make makes all files.
func (a *auditFiles) make() error {
	d := a.to
	if d.Dir != "" || d.TakesPolicy {
		if err := a.makePolicy(); err != nil {
			return err
		}
	}
	if d.Dir != "" {
		if err := a.makeKubeconfig(); err != nil {
			return err
		}
	}
	if d.ShowsCertificate() {
		a.add(distribution.CAFile, "the CA of the ingest's certificate", a.trusted)
		if a.token != nil {
			a.add(distribution.TokenFile, "the token of this cluster; keep it secret", a.token)
		} else {
			a.add(distribution.CertFile, "the client certificate of this cluster", a.client.certificate)
			a.add(distribution.KeyFile, "its key; keep it secret", a.client.key)
		}
	}
	settings, err := d.WriteSettings(a.content)
	if err != nil {
		return err
	}
	what := "what makes " + d.Title + " use them"
	if !d.Posts() {
		what = "values of Reroll's chart"
	}
	if d.Inline {
		what += ", with their content; keep it secret"
	}
	a.add(d.SettingsFile(), what, settings)
	return nil
}

func (a *auditFiles) add(name, what string, content []byte) {
	a.files = append(a.files, auditFile{name, what, content})
}

// makePolicy makes the policy, with the rules of another one behind ours if there is one.
func (a *auditFiles) makePolicy() error {
	text := ownPolicy(a.content.Namespace)
	if theirs := a.setup.policy; theirs != "" {
		content, err := readFile(theirs)
		if err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		if text, err = withOurRules(content); err != nil {
			return fmt.Errorf("--policy: %s: %w", theirs, err)
		}
		a.warnings = append(a.warnings, "the first rule that matches decides: writes of ConfigMaps and Secrets are reported without content, whatever the rules of "+theirs+" say")
	}
	a.content.Policy = a.to.PolicyHeader() + text
	var found findings
	found.checkPolicy([]byte(text), a.content.Namespace)
	for _, one := range found {
		if one.Verdict != fine {
			a.warnings = append(a.warnings, one.Check+": "+one.Message)
		}
	}
	a.add(distribution.PolicyFile, "what the API server reports", []byte(a.content.Policy))
	return nil
}
