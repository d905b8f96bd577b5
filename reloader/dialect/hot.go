package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// The strategies that restart no pod: each pod is called, or its kubelet is only made to refresh its volumes, or a command runs in it.
const HTTP, Refresh, Exec = "http", "refresh", "exec"

// HotStrategies are those strategies.
var HotStrategies = []string{HTTP, Refresh, Exec}

// Hot is how running pods take new content without a restart.
type Hot struct {
	// Strategy is HTTP, Refresh or Exec.
	Strategy string
	// Reload is what HTTP asks each pod. Verify asks for proof, if it has a path: the answer has a larger value of Metric than before the
	// call or, without Metric, the resource version of each config.
	Reload, Verify Request
	Metric         string
	// Secret is the name of one in the workload's namespace that has credentials; empty for none.
	Secret string
	// Command is what Exec runs in Container.
	Command   []string
	Container string
	// Fallback says that the workload rolls where this does not work.
	Fallback bool
}

// Request is what a pod is asked over HTTP. Port is the name or number of a port, and Path starts with a slash and may have a query.
type Request struct{ Method, Port, Path string }

// maxPath bounds a path, maxCommand the text of a command.
const maxPath, maxCommand = 1024, 4096

// hotKeys are the annotations of the strategies, without OwnPrefix. Each belongs to the strategy that it begins with, but http-fallback to all of them.
var hotKeys = []string{"http-reload", "http-verify", "http-secret", "http-fallback", "exec-reload", "exec-container"}

// metricName is that of Prometheus.
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]{0,199}$`)

// read takes the value of one of hotKeys.
func (h *Hot) read(w *workload.Workload, key, value string) (err error) {
	switch key {
	case "http-reload":
		h.Reload, err = ParseRequest(value)
	case "http-verify":
		method, rest, _ := strings.Cut(value, " ")
		path, metric, named := strings.Cut(rest, " ")
		h.Metric = metric
		switch h.Verify, err = ParseRequest(method + " " + path); {
		case err == nil && method != http.MethodGet:
			err = errors.New("it does not start with GET")
		case err == nil && named && !metricName.MatchString(metric):
			err = fmt.Errorf("%.40q is not the name of a metric", metric)
		}
	case "http-secret":
		h.Secret = value
		if (reloader.Config{Kind: reloader.Secret, Namespace: w.Namespace, Name: value}).Validate() != nil || value == "" {
			err = fmt.Errorf("%.40q is not the name of a Secret", value)
		}
	case "http-fallback":
		if h.Fallback = false; value != "none" {
			err = fmt.Errorf("%.40q is not valid: the only value is none", value)
		}
	case "exec-reload":
		bad := json.Unmarshal([]byte(value), &h.Command)
		if bad != nil || len(h.Command) == 0 || h.Command[0] == "" || len(value) > maxCommand || strings.Contains(strings.Join(h.Command, ""), "\x00") {
			err = fmt.Errorf(`it is not a list of words in JSON, such as ["nginx","-s","reload"], of at most %d characters`, maxCommand)
		}
	case "exec-container":
		h.Container = value
		if !slices.ContainsFunc(w.Template.Containers, func(c workload.Container) bool { return c.Name == value }) {
			err = fmt.Errorf("%.70q is not a container of the pod template", value)
		}
	}
	return err
}

// hotChoices are the Choices for hotKeys. They come after that of the strategy. One that has a fault leaves the workload to the installation's strategy.
func hotChoices() (choices []Choice) {
	for _, key := range hotKeys {
		of := HotStrategies
		if strategy, _, _ := strings.Cut(key, "-"); key != "http-fallback" {
			of = []string{strategy}
		}
		choices = append(choices, Choice{OwnPrefix + key, func(w *workload.Workload, value string, chosen *Chosen) error {
			if !slices.Contains(of, w.Annotations[strategyKey]) {
				return fmt.Errorf("it needs %s: %s", strategyKey, strings.Join(of, ", "))
			}
			err := cmp.Or(chosen.Hot, new(Hot)).read(w, key, value)
			if err != nil {
				chosen.Hot = nil
			}
			return err
		}, "the workload rolls by the installation's strategy"})
	}
	return choices
}

// chooseHot takes a strategy, if the annotations are there that it needs.
func chooseHot(w *workload.Workload, strategy string, chosen *Chosen) error {
	h := &Hot{Strategy: strategy, Fallback: true}
	_, says := w.Annotations[OwnPrefix+strategy+"-reload"]
	_, where := w.Annotations[OwnPrefix+"exec-container"]
	switch containers := w.Template.Containers; {
	case strategy != Refresh && !says:
		return fmt.Errorf("%s needs %s%s-reload", strategy, OwnPrefix, strategy)
	case strategy == Exec && len(containers) == 1:
		h.Container = containers[0].Name
	case strategy == Exec && !where:
		return errors.New("exec needs " + OwnPrefix + "exec-container, since the pod has several containers")
	}
	chosen.Hot = h
	return nil
}

// requestText has a port's name or number by Kubernetes' rules.
var requestText = regexp.MustCompile(`^(GET|POST|PUT) :([a-z0-9-]{0,14}[a-z0-9])(/[!-~]*)$`)

// ParseRequest reads a request to a pod, such as "POST :web/-/reload": GET, POST or PUT, a space, and a colon before the name or number of a port
// and a path with perhaps a query, of at most 1,024 printable characters. It names neither a scheme nor a host.
func ParseRequest(text string) (Request, error) {
	m := requestText.FindStringSubmatch(text)
	if m == nil {
		return Request{}, errors.New(`it is not a request such as "POST :web/-/reload": GET, POST or PUT, the name or number of a port, and a path`)
	}
	r := Request{Method: m[1], Port: m[2], Path: m[3]}
	if n, err := strconv.Atoi(r.Port); err == nil && (n < 1 || n > 65535 || strconv.Itoa(n) != r.Port) {
		return Request{}, fmt.Errorf("%q is not the number of a port", r.Port)
	}
	u, err := url.ParseRequestURI(r.Path)
	if err != nil || len(r.Path) > maxPath || u.Host != "" || u.RequestURI() != r.Path || strings.ContainsAny(r.Path, `\#`) ||
		strings.HasPrefix(r.Path, "//") || slices.Contains(strings.Split(u.Path, "/"), "..") {
		return Request{}, fmt.Errorf("the path is not one of a URL, has .. in it, or more than %d characters", maxPath)
	}
	return r, nil
}

// Restarts says why a change of c restarts the pods although Chosen.Hot is there, and whether that is forbidden: the installation does not allow it, or
// they would not see the change. It is empty if they see it in their volumes, and if Chosen.Hot is nil.
func (p *Plan) Restarts(c reloader.Config, enabled, exec bool) (why string) {
	w, h := p.Workload, p.Chosen.Hot
	switch r := w.Template.References.Get(c); {
	case h == nil:
		return ""
	case !enabled:
		why = "hotReload.enabled is off"
	case h.Strategy == Exec && !exec:
		why = "hotReload.exec is off"
	case w.Roll() != workload.InPlace:
		why = "pods of a " + w.Kind + " are not asked to reload"
	case w.Template.HostNetwork && h.Strategy == HTTP:
		why = "its pods use the host network, where Reroll calls no pods"
	case r == nil:
		why = "the pod template does not refer to " + c.String()
	default:
		for _, u := range r.Uses {
			if how := unseen(w, u); how != "" {
				why = c.String() + " " + how + ", so running pods do not see its changes"
			}
		}
	}
	if why != "" && !h.Fallback {
		why += "; but " + OwnPrefix + "http-fallback forbids a restart"
	}
	return why
}

// unseen says why running pods do not see changes of a config that they use like this; empty if they do.
func unseen(w *workload.Workload, u reloader.Use) string {
	switch {
	case u.How != workload.UseVolume && u.How != workload.UseProjectedVolume:
		return "is used as " + u.How
	case u.Container == "":
		return "is mounted by no container"
	case u.SubPath:
		return "is mounted with subPath by container " + u.Container
	case slices.Contains(w.Template.Init, u.Container):
		return "is read by init container " + u.Container
	}
	return ""
}
