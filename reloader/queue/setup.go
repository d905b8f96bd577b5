package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Layout says what a NATS is for: clusters that use it for themselves, or a hub to which clusters bring their records.
type Layout struct {
	// Clusters are those whose hints are dispatched from there.
	Clusters []string
	// Hub says that it is a hub, which has no hints.
	Hub bool
}

// Definitions are the streams and consumers of a layout as JetStream's API takes them.
type Definitions struct {
	Streams []jetstream.StreamConfig `json:"streams"`
	// Consumers are of the stream of hints.
	Consumers []jetstream.ConsumerConfig `json:"consumers,omitempty"`
}

// Step is one thing that Setup has seen to.
type Step struct {
	// Object is what it is, such as "stream HINTS".
	Object string
	// Action is what was done: "made", "brought up to date", "left as it is" or "left to a newer version".
	Action string
}

// What Setup does with an object.
const (
	actionMade     = "made"
	actionUpdated  = "brought up to date"
	actionNone     = "left as it is"
	actionNotMine  = "left to a newer version"
	actionRefused  = "refused"
	dispatcherOnly = "only a cluster has consumers of hints, a hub has none"
)

// ErrShrink means that Setup would have made a limit smaller, and by that perhaps have thrown something away.
var ErrShrink = errors.New("refused to shrink")

// DefinitionsOf returns what l consists of on a server of the current version.
func DefinitionsOf(o Options, l Layout) (Definitions, error) {
	o.URL = cmp.Or(o.URL, nats.DefaultURL) // it is not asked, but that there is one decides how large things are
	o, err := o.withDefaults()
	if err != nil {
		return Definitions{}, err
	}
	return definitionsOf(o, l, unlimitedAPILevel)
}

func definitionsOf(o Options, l Layout, level int) (Definitions, error) {
	if l.Hub {
		o.Role = RoleHubAdmin
	}
	d := Definitions{Streams: wantedStreams(o, level)}
	if l.Hub {
		if len(l.Clusters) > 0 {
			return Definitions{}, errors.New(dispatcherOnly)
		}
		d.Streams = slices.DeleteFunc(d.Streams, func(s jetstream.StreamConfig) bool { return !RoleHubAdmin.looksAt(s.Name) })
		return d, nil
	}
	for _, cluster := range l.Clusters {
		filter, err := clusterFilter(hintPrefix, cluster)
		if err != nil {
			return Definitions{}, err
		}
		d.Consumers = append(d.Consumers, consumerConfig(cluster, filter))
	}
	return d, nil
}

// Setup makes the streams and consumers of l on an external server, or brings them up to date, and returns a step for each. If a
// limit would get smaller, it changes nothing of that stream, goes on, and returns an error that wraps ErrShrink; at any other error it
// ends. Doing it again does nothing. A dry run changes nothing and returns the same steps.
func Setup(ctx context.Context, o Options, l Layout, dryRun bool) ([]Step, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.URL == "" {
		return nil, errors.New("an embedded NATS sets itself up")
	}
	q := newQueue(o)
	steps, err := q.setup(ctx, o, l, dryRun)
	return steps, errors.Join(wrap(err, "set up NATS"), q.giveUp(ctx))
}

func (q *Queue) setup(ctx context.Context, o Options, l Layout, dryRun bool) ([]Step, error) {
	if err := q.connect(o); err != nil {
		return nil, err
	}
	q.onEnd(q.drain)
	ctx, release := q.bounded(ctx, setupTime, "$JS.")
	defer release()
	if err := q.examine(ctx, o); err != nil {
		return nil, err
	}
	d, err := definitionsOf(o, l, q.level)
	if err != nil {
		return nil, err
	}
	var steps []Step
	var refusals []error
	for _, want := range d.Streams {
		action, err := q.setupStream(ctx, want, dryRun)
		steps = append(steps, Step{"stream " + want.Name, action})
		if err != nil && !errors.Is(err, ErrShrink) {
			return steps, errors.Join(append(refusals, err)...)
		}
		refusals = append(refusals, err)
	}
	for _, want := range d.Consumers {
		action, err := q.setupConsumer(ctx, want, dryRun)
		steps = append(steps, Step{"consumer " + want.Durable + " of stream " + hintsStream, action})
		if err != nil {
			return steps, errors.Join(append(refusals, err)...)
		}
	}
	return steps, errors.Join(refusals...)
}

// setupTime bounds Setup as a whole.
const setupTime = 12 * answerTime

func (q *Queue) setupStream(ctx context.Context, want jetstream.StreamConfig, dryRun bool) (string, error) {
	found, err := q.js.Stream(ctx, want.Name)
	change := q.js.UpdateStream
	action, target := actionMade, want
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		change = q.js.CreateStream
	case err != nil:
		return actionRefused, fmt.Errorf("stream %s: %w", want.Name, explain(ctx, err))
	default:
		action, target, err = planStream(found.CachedInfo().Config, want)
		if err != nil || action != actionUpdated {
			return action, err
		}
	}
	if dryRun {
		return action, nil
	}
	made, err := change(ctx, target)
	if err != nil {
		return actionRefused, fmt.Errorf("stream %s: %w", want.Name, explain(ctx, err))
	}
	is := made.CachedInfo().Config
	return action, errors.Join(mismatch(is, overlay(is, want)), unfit(is, want))
}

// planStream decides what to do with a stream that is there, and returns what is to become of it.
func planStream(is, want jetstream.StreamConfig) (action string, target jetstream.StreamConfig, err error) {
	target = overlay(is, want)
	less := shrinks(is, want)
	switch {
	case generationOf(is) > generation:
		return actionNotMine, is, nil
	case len(less) > 0:
		return actionRefused, is, fmt.Errorf("%w: stream %s would go down in %s", ErrShrink, want.Name, strings.Join(less, ", "))
	case reflect.DeepEqual(is, target):
		return actionNone, is, unfit(is, want)
	}
	return actionUpdated, stamped(target, want), nil
}

func (q *Queue) setupConsumer(ctx context.Context, want jetstream.ConsumerConfig, dryRun bool) (string, error) {
	found, err := q.js.Consumer(ctx, hintsStream, want.Durable)
	action := actionUpdated
	switch {
	case err == nil && consumerFits(found.CachedInfo().Config, want):
		return actionNone, nil
	case errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound):
		action = actionMade
	case err != nil:
		return actionRefused, fmt.Errorf("consumer %s: %w", want.Durable, explain(ctx, err))
	}
	if dryRun {
		return action, nil
	}
	if _, err := q.js.CreateOrUpdateConsumer(ctx, hintsStream, want); err != nil {
		return actionRefused, fmt.Errorf("consumer %s: %w", want.Durable, explain(ctx, err))
	}
	return action, nil
}
