package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// references says how a pod spec refers to configs: each with its uses, by container and with the keys, and whether pods need it.
func references(t *testing.T, spec string) string {
	t.Helper()
	var configs []string
	for c, r := range stripped(t, "Deployment", "{metadata: {namespace: ns}, spec: {template: {spec: "+spec+"}}}").Template.References.All() {
		var words []string
		for _, u := range r.Uses {
			word := strings.TrimSpace(u.How + " " + u.Container)
			if u.SubPath {
				word += "/"
			}
			if len(u.Keys) > 0 {
				word += fmt.Sprint(u.Keys)
			}
			words = append(words, word)
		}
		if r.Required {
			words = append(words, "required")
		}
		if r.Optional {
			words = append(words, "optional")
		}
		if len(r.RequiredKeys) > 0 {
			words[len(words)-1] += fmt.Sprint(r.RequiredKeys)
		}
		configs = append(configs, string(c.Kind)+"/"+c.Name+" "+strings.Join(words, ", "))
	}
	slices.Sort(configs)
	return strings.Join(configs, "; ")
}

func TestReferences(t *testing.T) {
	const (
		fromC   = `env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: a}}}]`
		mount   = `volumeMounts: [{name: v, mountPath: /v}]`
		volumes = `volumes: [{name: v, configMap: {name: c}}]`
		items   = `volumes: [{name: v, configMap: {name: c, items: [{key: a, path: d/a}, {key: b, path: d/b}, {key: e, path: de}]}}]`
	)
	subPath := func(path, volumes string) string {
		return `{containers: [{name: m, volumeMounts: [{name: v, mountPath: /v, subPath: ` + path + `}]}], ` + volumes + `}`
	}
	container := func(fields string) string { return `{containers: [{name: m, ` + fields + `}]}` }
	for name, c := range map[string]struct{ reason, spec, want string }{
		"env": {
			"keys of one config in one container are one use, sorted and without repeats, and must be there",
			container(`env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: b}}}, {name: B, valueFrom: {configMapKeyRef: {name: c, key: a, optional: false}}}, {name: C, valueFrom: {configMapKeyRef: {name: c, key: b}}}, {name: D, valueFrom: {secretKeyRef: {name: s, key: k}}}]`),
			"ConfigMap/c env m[a b], required[a b]; Secret/s env m[k], required[k]",
		},
		"envFrom": {
			"all keys are used, whatever another variable takes", container(fromC + `, envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}]`),
			"ConfigMap/c env m[a], envFrom m, required[a]; Secret/s envFrom m, required",
		},
		"other variables":   {"field references and plain values name no config", container(`env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), ""},
		"optional variable": {"neither the key nor the config", container(`env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: a, optional: true}}}]`), "ConfigMap/c env m[a], optional"},
		"one of two": {
			"only one key", container(`env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: a, optional: true}}}, {name: B, valueFrom: {configMapKeyRef: {name: c, key: b}}}]`),
			"ConfigMap/c env m[a b], required[b]",
		},
		"optional, and not": {"one of them needs it", container(`envFrom: [{configMapRef: {name: c, optional: true}}, {configMapRef: {name: c}}]`), "ConfigMap/c envFrom m, required"},
		"volumes": {
			"one use for each container that mounts it; items restrict the keys, and each must be there",
			`{containers: [{name: m, ` + mount + `}, {name: two, volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]}], volumes: [{name: v, configMap: {name: c, items: [{key: z, path: z}, {key: x, path: dir/x}]}}, {name: w, secret: {secretName: s}}]}`,
			"ConfigMap/c volume m[x z], volume two[x z], required[x z]; Secret/s volume two, required",
		},
		"unmounted volume": {"no container sees it", `{containers: [{name: m}], ` + volumes + `}`, "ConfigMap/c volume"},
		"projected": {
			"each source is a use",
			`{containers: [{name: m, ` + mount + `}], volumes: [{name: v, projected: {sources: [{configMap: {name: c, items: [{key: k, path: k}]}}, {secret: {name: s}}, {serviceAccountToken: {path: token}}]}}]}`,
			"ConfigMap/c projectedVolume m[k], required[k]; Secret/s projectedVolume m, required",
		},
		"subPath without items":    {"the file is the key", subPath("./app.yaml", volumes), "ConfigMap/c volume m/[app.yaml], required"},
		"subPath that is the root": {"all keys are shown", subPath("./", volumes), "ConfigMap/c volume m/, required"},
		"subPath of items":         {"rather a reload too many", subPath("d", items), "ConfigMap/c volume m/[a b e], required[a b e]"},
		"init containers and native sidecars": {
			"both are init containers, and must start, too",
			`{initContainers: [{name: init, ` + fromC + `, ` + mount + `}, {name: sidecar, restartPolicy: Always, envFrom: [{configMapRef: {name: d}}]}], containers: [{name: m}], volumes: [{name: v, secret: {secretName: s}}]}`,
			"ConfigMap/c env init[a], required[a]; ConfigMap/d envFrom sidecar, required; Secret/s volume init, required",
		},
		"provider class": {
			"the attribute counts whatever the driver is called, and its provider says which object becomes which file",
			`{initContainers: [{name: init, ` + mount + `}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /v, subPath: db}]}, {name: two, volumeMounts: [{name: w, mountPath: /w}]}], volumes: [{name: v, csi: {driver: some, volumeAttributes: {secretProviderClass: p}}}, {name: w, csi: {driver: some}}]}`,
			"SecretProviderClass/p csiVolume m/, csiVolume init",
		},
		"unmounted provider class": {"the kubelet mounts it although no container sees it", `{containers: [{name: m}], volumes: [{name: v, csi: {driver: some, volumeAttributes: {secretProviderClass: p}}}]}`, "SecretProviderClass/p csiVolume"},
		"provider class and the secret of its driver": {
			"they are two configs", `{containers: [{name: m, ` + mount + `}], volumes: [{name: v, csi: {driver: some, nodePublishSecretRef: {name: s}, volumeAttributes: {secretProviderClass: p}}}]}`,
			"Secret/s csiNodePublishSecret; SecretProviderClass/p csiVolume m",
		},
		"image pull secrets": {"used by the pod, not by a container", `{containers: [{name: m}], imagePullSecrets: [{name: p}, {name: ""}]}`, "Secret/p imagePullSecret"},
		"impossible names": {
			"no object can have them, and no subject may be built of them",
			container(`env: [{name: A, valueFrom: {configMapKeyRef: {name: "", key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: a/b, key: k}}}, {name: C, valueFrom: {secretKeyRef: {name: "*", key: k}}}]`), "",
		},
	} {
		if got := references(t, c.spec); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}
