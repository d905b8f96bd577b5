package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
)

// hubAPI is a process that answers for all clusters.
type hubAPI struct{ *line.Reroll }

// source is where hints came from, and when the last did.
type source struct {
	Source string
	Hints  int64
	LastAt time.Time
}

// listing is the clusters as the API of the hub lists them.
type listing struct {
	Items []struct {
		Name, Health, Version string
		Sources               []source
		Drift                 int64
		Forward               []struct {
			Behind int64
			Gaps   []struct{ Lost bool }
		}
	}
	Warnings []string
}

// warns waits until the API says of a cluster, and of no other, that it is silent; so it does in whatever it lists.
func (a hubAPI) warns(ctx context.Context, t *testing.T, cluster string) {
	t.Helper()
	for _, path := range []string{"/api/v1/clusters", "/api/v1/reloads"} {
		line.Must(t, line.Poll(ctx, func(ctx context.Context) error {
			var page struct{ Warnings []string }
			if err := a.Get(ctx, path, &page); err != nil {
				return err
			}
			if len(page.Warnings) != 1 || !strings.HasPrefix(page.Warnings[0], "Cluster "+cluster+":") {
				return fmt.Errorf("%s is silent, and %s warns of %q", cluster, path, page.Warnings)
			}
			return nil
		}))
	}
}

// idOf returns the ID of a record.
func idOf(item json.RawMessage) json.RawMessage {
	var named struct{ ID json.RawMessage }
	_ = json.Unmarshal(item, &named) // what is no record has no ID
	return named.ID
}

// hasAllOf waits until the API has the records that a cluster has itself, each as the cluster has it.
func (a hubAPI) hasAllOf(ctx context.Context, c *cluster) {
	c.T.Helper()
	for _, kind := range []string{"changes", "reloads", "workloads"} {
		path := "/api/v1/" + kind + "?limit=500&cluster=" + c.name
		c.Must(line.Poll(ctx, func(ctx context.Context) error {
			var own, hub struct{ Items []json.RawMessage }
			if err := errors.Join(c.Line.Reroll.Get(ctx, path, &own), a.Get(ctx, path, &hub)); err != nil {
				return err
			}
			if len(own.Items) == 0 || len(own.Items) != len(hub.Items) {
				return fmt.Errorf("%s has %d %s, and the hub %d of it", c.name, len(own.Items), kind, len(hub.Items))
			}
			for i, item := range own.Items {
				if kind == "changes" { // the hub knows who has rolled for them elsewhere
					item, hub.Items[i] = idOf(item), idOf(hub.Items[i])
				}
				if !bytes.Equal(item, hub.Items[i]) {
					return fmt.Errorf("%s has %s, and the hub %s", c.name, item, hub.Items[i])
				}
			}
			return nil
		}))
	}
}

// lists waits until the API lists all clusters, each as well and as it lists itself, and warns of nothing.
func (a hubAPI) lists(ctx context.Context, t *testing.T, fleet map[string]*cluster) {
	t.Helper()
	line.Must(t, line.Poll(ctx, func(ctx context.Context) error {
		var page listing
		if err := a.Get(ctx, "/api/v1/clusters", &page); err != nil {
			return err
		}
		if len(page.Items) != 3 || len(page.Warnings) != 0 {
			return fmt.Errorf("the hub lists %+v", page)
		}
		for _, c := range page.Items {
			if c.Health != "Healthy" || c.Version == "" || len(c.Sources) == 0 || len(c.Forward) != 2 || len(c.Forward[0].Gaps)+len(c.Forward[1].Gaps) != 0 {
				return fmt.Errorf("cluster %s: %+v", c.Name, c)
			}
			var own listing
			if err := fleet[c.Name].Line.Reroll.Get(ctx, "/api/v1/clusters", &own); err != nil {
				return err
			}
			if len(own.Items) != 1 {
				return fmt.Errorf("cluster %s lists %+v", c.Name, own)
			}
			itself := own.Items[0]
			if !slices.Equal(c.Sources, itself.Sources) || c.Sources[0].LastAt.IsZero() || c.Drift != itself.Drift || c.Forward[0].Behind+c.Forward[1].Behind != 0 {
				return fmt.Errorf("the hub lists %+v, and the cluster itself %+v", c, itself)
			}
		}
		return nil
	}))
}
