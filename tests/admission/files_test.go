package admission

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// TestCertificateFromFiles: a webhook whose certificate somebody else keeps in files, as cert-manager does, shows the new one once it is there,
// also if another CA has signed it, and no request of the API server goes astray meanwhile.
func TestCertificateFromFiles(t *testing.T) {
	s := newSite(t)
	s.apply("client", s.configFile("app", "one"))
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first, second := s.authority("first"), s.authority("second")
	s.keep(first, cert, key)
	address := s.alone(func(address string) []string {
		return []string{"--admission-address", address, "--admission-tls-cert", cert, "--admission-tls-key", key}
	})
	shared.Reroll.Kill() // so that nobody else marks
	defer func() { s.must(errors.Join(shared.Reroll.Start(), shared.Reroll.WaitReady(s.ctx))) }()
	s.registered(address, slices.Concat(first.CertPEM(), second.CertPEM()))
	defer s.kubectl("delete", "mutatingwebhookconfiguration", fromFiles)
	s.await(s.marked)

	s.keep(second, cert, key)
	asked := 0
	s.await(func() error {
		if err := s.marked(); errors.Is(err, errGaveUp) {
			return err
		} else if err != nil {
			return line.Stop(fmt.Errorf("request %d: %w", asked, err))
		}
		asked++
		_, err := s.shown(address, second.CertPEM())
		return err
	})
	if _, err := s.shown(address, first.CertPEM()); err == nil {
		t.Error("the certificate of before is still shown")
	}
	t.Logf("%d requests until the second certificate was shown", asked)

	s.registered(address, second.CertPEM())
	asked = 0
	s.await(func() error {
		if err := s.marked(); errors.Is(err, errGaveUp) {
			return err
		} else if err != nil {
			return line.Stop(fmt.Errorf("request %d by the second bundle: %w", asked, err))
		}
		if asked++; asked < 50 {
			return fmt.Errorf("%d requests were answered", asked)
		}
		return nil
	})
}

func (s *site) authority(name string) *kube.CA {
	s.t.Helper()
	ca, err := kube.NewCA(name)
	s.must(err)
	return ca
}

// keep has a CA sign a certificate for this machine, and puts it into files as it is done in a volume: each is there as a whole.
func (s *site) keep(ca *kube.CA, cert, key string) {
	s.t.Helper()
	pair, err := ca.Server("reroll", "127.0.0.1")
	s.must(err)
	for file, content := range map[string][]byte{cert: pair.CertPEM, key: pair.KeyPEM} {
		s.must(os.WriteFile(file+".new", content, 0o600))
		s.must(os.Rename(file+".new", file))
	}
}

// fromFiles is the name of a second configuration.
const fromFiles = configuration + "-files"

// registered has the API server ask at an address as well, which it trusts by a bundle.
func (s *site) registered(address string, bundle []byte) {
	s.t.Helper()
	client := s.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if found, err := client.Get(s.ctx, fromFiles, metav1.GetOptions{}); err == nil {
		found.Webhooks[0].ClientConfig.CABundle = bundle
		_, err := client.Update(s.ctx, found, metav1.UpdateOptions{})
		s.must(err)
		return
	}
	of, err := client.Get(s.ctx, configuration, metav1.GetOptions{})
	s.must(err)
	url := "https://" + address + s.path()
	of.ObjectMeta = metav1.ObjectMeta{Name: fromFiles}
	of.Webhooks[0].ClientConfig.URL, of.Webhooks[0].ClientConfig.CABundle = &url, bundle
	_, err = client.Create(s.ctx, of, metav1.CreateOptions{})
	s.must(err)
}
