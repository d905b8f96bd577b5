package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// answering returns a server that answers everything with the same.
func answering(status int, body string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // who has gone needs nothing
	}))
}

// TestListThatDoesNotEnd: a server whose list continues where it was is no Reroll, and does not keep anybody for ever.
func TestListThatDoesNotEnd(t *testing.T) {
	server := answering(http.StatusOK, `{"items":[],"continue":"for ever"}`)
	defer server.Close()
	if _, _, err := run(t, "get", "workloads", "--server", server.URL); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("error %v", err)
	}
}

// FuzzAnswers has a server answer anything. Whatever a terminal obeys is kept from people.
func FuzzAnswers(f *testing.F) {
	f.Add("get workloads", "", 200, `{"items":[{"cluster":"local","workload":{"kind":"Deployment","namespace":"shop","name":"cart\u001b[31m"}}],"continue":""}`)
	f.Add("get changes", "-owide", 200, `{"items":[{"id":"c-1","config":{"kind":"Secret"},"keys":null,"candidates":[{}]}]}`)
	f.Add("get reloads", "-oname", 200, `{"items":[{"id":"r-1","causes":[]}]}`)
	f.Add("get clusters", "-oyaml", 200, `{"items":[null]}`)
	f.Add("get changes", "-ojsonpath={.items[*].id}", 200, `{"items":7}`)
	f.Add("get workloads", "", 200, `{"items":[],"continue":"for ever"}`)
	f.Add("get workloads", "-ojson", 404, `{"detail":"\u001b]0;x","errors":[{"message":"m","location":"l"}]}`)
	f.Fuzz(func(t *testing.T, command, flag string, status int, body string) {
		if !slices.Contains([]string{"get workloads", "get changes", "get reloads", "get clusters", "status"}, command) || status < 200 || status > 599 || status == http.StatusTooManyRequests {
			return // no such command or answer
		}
		if flag != "" && !strings.HasPrefix(flag, "-o") {
			return // this is about formats
		}
		server := answering(status, body)
		defer server.Close()
		args := append(strings.Fields(command), "--server", server.URL)
		if flag != "" {
			args = append(args, flag)
		}
		out, _, err := run(t, args...)
		if err != nil && len(err.Error()) > 4096+4*len(body) {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if (flag == "" || flag == "-owide" || flag == "-oname") && strings.ContainsRune(out, '\x1b') {
			t.Errorf("a terminal would obey %q", out)
		}
	})
}

// FuzzManifests: only configs with names are found in a file, and no error quotes it.
func FuzzManifests(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {c: d}\n---\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]\n")
	f.Add("a: {")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := proposalsIn(strings.NewReader(text), "")
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		for _, p := range found {
			if p.Config.Name == "" || !slices.Contains(configKinds(), string(p.Config.Kind)) {
				t.Errorf("%+v", p.Config)
			}
		}
	})
}
