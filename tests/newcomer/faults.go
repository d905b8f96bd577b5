package newcomer

// fault is a mistake that a user makes in a namespace of their own.
type fault struct {
	// objects are made first, as YAML. A Deployment web that opts in with auto and uses the ConfigMap app is there if they are empty.
	objects string
	// then are commands for a shell that follow once the objects are on record, in the namespace.
	then string
	// ask is the workload to explain; Deployment/web if empty.
	ask string
	// state begins the first line of explain, which has cause in it, and the last line has next. status is what reroll status says of the workload, if it should need
	// attention.
	state, cause, next string
	calm               bool
}

// deployment is a Deployment web with annotations, and a container with fields.
func deployment(annotations, container string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {` + annotations + `}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: registry.invalid/web` + container + `}]
---
`
}

const (
	auto     = `reloader.stakater.com/auto: "true"`
	app      = "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {level: info}\n---\n"
	password = "\napiVersion: v1\nkind: Secret\nmetadata: {name: api-password}\nstringData: {token: a}\n---\n"
	// onePod lets no new pod start next to the one that runs once the Deployment runs.
	onePod  = "\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: one}\nspec: {hard: {pods: \"1\"}}\n---\n"
	runs    = "kubectl -n $NAMESPACE rollout status deployment/web --timeout=2m\n"
	fromApp = ", envFrom: [{configMapRef: {name: app}}]"
	edit    = "kubectl -n $NAMESPACE patch configmap app --patch '{\"data\":{\"level\":\"debug\"}}'\n"
)

// faults are mistakes that concern one workload, each of which reaches Reroll in its own way. TestFaultsOfNewcomers of package verdict has more.
var faults = map[string]fault{
	"no annotation": {
		objects: app + deployment("", fromApp), then: edit, calm: true,
		state: "NotOptedIn", cause: "exists, and is not opted in", next: "annotate deployment/web reroll.dev/auto=true",
	},
	"a config's name misspelt": {
		objects: password + deployment(`secret.reloader.stakater.com/reload: api-pasword`, `, envFrom: [{secretRef: {name: api-password}}]`),
		state:   "MissingConfig", cause: "api-pasword does not exist. Did you mean api-password", next: "edit deployment/web",
	},
	"auto is yes": {
		objects: app + deployment(`reloader.stakater.com/auto: "yes"`, fromApp), then: edit,
		state: "Invalid", cause: `reloader.stakater.com/auto is "yes"; use "true" or "false". Nothing will roll.`, next: "reloader.stakater.com/auto=true",
	},
	"a window that is closed": {
		objects: app + deployment(auto+`, reroll.dev/maintenance-window: "0 0 29 2 * 1h"`, fromApp), then: edit,
		state: "Held", cause: "no maintenance window is open; the next one opens at 20", next: "reroll reload",
	},
	"paused by an operator": {
		objects: app + deployment(auto, fromApp), then: "reroll pause -n $NAMESPACE --for 1h --reason sale --reroll-namespace default\n" + edit,
		state: "Held", cause: "held back by a pause in reroll-control: sale", next: "reroll resume",
	},
	"the Deployment is paused": {
		objects: app + deployment(auto, fromApp), then: "kubectl -n $NAMESPACE rollout pause deployment/web\n" + edit,
		state: "NotRolledOut", cause: "it is paused", next: "rollout resume deployment/web",
	},
	"a StatefulSet that updates on deletion": {
		objects: app + `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, annotations: {` + auto + `}}
spec:
  serviceName: web
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: registry.invalid/web` + fromApp + `}]
---
`, then: edit, ask: "StatefulSet/web",
		state: "NotRolledOut", cause: "OnDelete", next: "get pods -L controller-revision-hash",
	},
	"the API server refuses the patch": {
		objects: app + deployment(auto, fromApp) + `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: nobody-rolls}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]}
  validations: [{expression: "object.spec == oldObject.spec", message: "templates are frozen by the platform team"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: nobody-rolls}
spec: {policyName: nobody-rolls, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NAMESPACE}}}}
---
`, then: edit,
		state: "Failed", cause: "templates are frozen by the platform team", next: "reroll retry",
	},
	"the annotation's key misspelt": {
		objects: app + deployment(`reloader.stakater.com/atuo: "true"`, fromApp), then: edit, calm: true,
		state: "NotOptedIn", cause: "exists, and is not opted in. reloader.stakater.com/atuo is not an annotation of any tool: did you mean reloader.stakater.com/auto?", next: "annotate deployment/web",
	},
	"pods that cannot start": {
		objects: app + onePod + deployment(auto, fromApp), then: runs + `kubectl -n $NAMESPACE patch deployment web --patch '{"spec":{"progressDeadlineSeconds":2}}'` + "\n" + edit,
		state: "Stalled", cause: "its progress deadline is exceeded", next: "describe",
	},
	"the rollout is undone": {
		objects: app + onePod + deployment(auto, fromApp),
		then:    runs + edit + "kubectl -n $NAMESPACE wait --for=jsonpath='{.status.observedGeneration}'=2 --timeout=2m deployment/web\nkubectl -n $NAMESPACE rollout undo deployment/web\n",
		state:   "NotRolledOut", cause: "another client removed the mark at", next: "reroll reload",
	},
	"all is well": {
		objects: app + deployment(auto, fromApp), then: edit, calm: true,
		state: "UpToDate", cause: "runs with the newest content",
	},
}
