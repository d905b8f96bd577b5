package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/dispatcher/applied"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/mark"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Rules are how an installation marks workloads.
type Rules struct {
	Dialects dialect.Set
	// Ring has the keys of digests.
	Ring *digest.Ring
	// Strategy is the name of the strategy of workloads that do not choose one.
	Strategy string
	// HashOnly writes the hash of Reroll alone, and no mark of a tool.
	HashOnly bool
}

// draft is the answer to a request.
type draft struct {
	Rules
	now  object
	plan dialect.Plan
	// state is the newest that the object says, before the request or after it. brought says that the latter has more rolls: the request was answered
	// before, and another webhook has changed it since.
	state   applied.State
	brought bool
	// needs are the configs that are read; none if the request changes nothing but marks in the pod template. seen is what was read of them.
	needs []reloader.Config
	seen  map[reloader.Config]sight
	// roll is what is written. template is the pod template that is written instead of roll's; nil if there is none.
	roll     mark.Roll
	template json.RawMessage
}

// object is a workload and its JSON.
type object struct {
	*workload.Workload
	raw json.RawMessage
	parts
}

// parts are the parts of an object that a patch replaces.
type parts struct {
	Metadata struct {
		Annotations json.RawMessage `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Template json.RawMessage `json:"template"`
	} `json:"spec"`
}

// draft compares a workload before and after a request, as JSON. It returns nil if the workload is not opted in both before and after.
func (r Rules) draft(kind workload.Kind, before, after json.RawMessage) (*draft, error) {
	old, err := r.read(kind, before)
	now, err2 := r.read(kind, after)
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	d := &draft{Rules: r, now: now, plan: r.Dialects.Compile(now.Workload), seen: map[reloader.Config]sight{}}
	if was := r.Dialects.Compile(old.Workload); !was.OptedIn() || !d.plan.OptedIn() || now.TemplateOf != nil || now.DeletionTimestamp != nil {
		return nil, nil
	}
	d.needs = slices.Clone(d.plan.Names)
	for c := range now.Template.References.All() {
		if d.plan.Matches(c) && !slices.Contains(d.plan.Names, c) {
			d.needs = append(d.needs, c)
		}
	}
	d.restoreState(old)
	if err := d.restoreMarks(old); err != nil {
		return nil, err
	}
	// Configs of other clusters have no marks, and those of other namespaces are left to the dispatcher: a tenant makes the webhook read one namespace.
	d.needs = slices.DeleteFunc(d.needs, func(c reloader.Config) bool { return c.Cluster != "" || c.Namespace != now.Namespace })
	return d, nil
}

func (r Rules) read(kind workload.Kind, raw json.RawMessage) (object, error) {
	w, err := kind.Strip(raw, r.Dialects.KeepsAnnotation)
	if err != nil {
		return object{}, err
	}
	o := object{Workload: w, raw: raw}
	if err := json.Unmarshal(raw, &o.parts); err != nil {
		return object{}, fmt.Errorf("read %s: %w", kind.Kind, err)
	}
	return o, nil
}

// restoreState gives back the State of before if that of now has fewer rolls, as after a replace or in a copy.
func (d *draft) restoreState(old object) {
	uid, text := string(old.UID), old.Annotations[applied.Key]
	before, _ := applied.Parse(text, uid, d.needs) // a State that cannot be read counts for nothing
	after, _ := applied.Parse(d.now.Annotations[applied.Key], uid, d.needs)
	d.brought = after.N > before.N
	if before.Known() && !d.brought && d.now.Annotations[applied.Key] != text {
		d.roll.Annotations = map[string]any{applied.Key: text}
	}
	d.state = applied.Newest(after, before)
	d.state.Workload = uid
}

// patch returns the JSON patch of what is written; nil if nothing is. Its operations replace what is there.
func (d *draft) patch() ([]byte, error) {
	if d.template == nil && d.roll.Hash == "" && len(d.roll.Marks)+len(d.roll.Annotations) == 0 {
		return nil, nil
	}
	result, err := mark.Apply(d.now.Workload, d.now.raw, d.roll)
	if err != nil {
		return nil, err
	}
	var changed parts
	if err := json.Unmarshal(result, &changed); err != nil {
		return nil, fmt.Errorf("read the changed %s: %w", d.now.Kind, err)
	}
	if d.template != nil {
		changed.Spec.Template = d.template
	}
	return json.Marshal([]map[string]any{
		{"op": "add", "path": d.now.Template.Path, "value": changed.Spec.Template},
		{"op": "add", "path": "/metadata/annotations", "value": changed.Metadata.Annotations},
	})
}
