package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// selector takes over a label selector: a text, or a list of texts. Commas in a text stay as they are.
func selector(to string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		list, ok := value.([]any)
		if text, isText := value.(string); isText {
			list, ok = []any{text}, true
		}
		for _, item := range list {
			text, isText := item.(string)
			ok = ok && isText && text != "" && strings.TrimSpace(text[:1]) != "" && !strings.ContainsAny(text, "\"\n\r")
		}
		if !ok {
			return fmt.Errorf("%s is no label selector", shortly(value))
		}
		c.set(to, list)
		return nil
	}
}

// takeScope limits us to one namespace, as Stakater's chart does without a list of them.
func takeScope(c *conversion, value any) error {
	everywhere, err := boolean(value)
	if err != nil || everywhere || !isNothing(lookup(c.theirs, "reloader.namespaces")) {
		return err
	}
	if c.namespace == "" {
		return errors.New("only the namespace of that release counts: give it as --namespace, or set scope.namespaces")
	}
	return names("scope.namespaces")(c, []any{c.namespace})
}

func takeHA(c *conversion, value any) (err error) {
	c.ha, err = boolean(value)
	return err
}

func takeReplicas(c *conversion, value any) error {
	n, ok := value.(float64)
	if !ok || n != float64(int32(n)) || n < 0 {
		return fmt.Errorf("%s is no number of replicas", shortly(value))
	}
	c.replicas = int(n)
	return nil
}

func takeCount(to string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		if !isCount(value) {
			return fmt.Errorf("%s is no number from 1 on", shortly(value))
		}
		c.set(to, value)
		return nil
	}
}

var httpURL = regexp.MustCompile(`^https?://\S+$`)

func takeWebhook(c *conversion, value any) error {
	url, ok := value.(string)
	if !ok || !httpURL.MatchString(url) {
		return errors.New("it should be an http or https URL")
	}
	c.set("reload.webhook.url", url)
	c.set("reload.webhook.legacyBody", true)
	return nil
}

// alertVariables are the variables of alerts that have a value here, with what they may be. The URL of one is not repeated in an error.
var alertVariables = map[string]struct {
	to      string
	pattern *regexp.Regexp
}{
	"ALERT_SINK":            {"notifications.sink", regexp.MustCompile(`^(slack|teams|gchat)$`)},
	"ALERT_WEBHOOK_URL":     {"notifications.url", httpURL},
	"ALERT_WEBHOOK_PROXY":   {"notifications.proxy", regexp.MustCompile(`^(https?|socks5)://\S+$`)},
	"ALERT_ADDITIONAL_INFO": {"notifications.additionalInfo", regexp.MustCompile(`(?s)^.+$`)},
}

// takeEnvironment takes over the variables of alerts; others have no meaning here.
func takeEnvironment(from string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		variables, ok := value.(map[string]any)
		if !ok {
			return errors.New("it should be a mapping of variables")
		}
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			c.takeVariable(from, name, variables[name])
		}
		return nil
	}
}

func (c *conversion) takeVariable(from, name string, value any) {
	if isNothing(value) {
		return
	}
	text := fmt.Sprint(value)
	known, ok := alertVariables[name]
	switch {
	case name == "ALERT_ON_RELOAD":
		if on, err := boolean(value); err != nil {
			c.note(join(from, name), err.Error())
		} else if on {
			c.set("notifications.enabled", true)
		}
	case !ok:
		c.note(join(from, name), "the variable has no value here; extraEnv sets any, and docs/configuration.md has those that the program reads")
	case !known.pattern.MatchString(text):
		c.note(join(from, name), "it is not what it should be")
	default:
		c.set(known.to, text)
	}
}

// takeVariableOf takes over a value that theirs gives to the process as a variable.
func takeVariableOf(name string) func(*conversion, any) error {
	return func(c *conversion, value any) error {
		switch v := value.(type) {
		case string:
		case float64:
			value = strconv.FormatFloat(v, 'f', -1, 64) // bytes, which nobody writes with an exponent
		default:
			return fmt.Errorf("%s is no text", shortly(value))
		}
		all, _ := c.ours["extraEnv"].([]any)
		c.set("extraEnv", append(all, map[string]any{"name": name, "value": value}))
		return nil
	}
}

func takePullSecrets(c *conversion, value any) error {
	list, ok := value.([]any)
	var secrets []any
	expression := regexp.MustCompile(objectName)
	for _, item := range list {
		if object, isMap := item.(map[string]any); isMap {
			item = object["name"]
		}
		name, isText := item.(string)
		ok = ok && isText && len(name) <= 253 && expression.MatchString(name)
		secrets = append(secrets, map[string]any{"name": item})
	}
	if !ok {
		return errors.New("it should be a list of names")
	}
	c.set("imagePullSecrets", secrets)
	return nil
}
