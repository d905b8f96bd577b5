package observability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/reroll-dev/reroll/tests/line"
)

// protobuf is what a Prometheus asks for that wants native histograms.
const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

// checkFamilies scrapes every role as such a Prometheus does: histograms of times are native ones beside their classic buckets, and what is
// exposed under our name is in docs/alerts-and-metrics.md.
func checkFamilies(ctx context.Context, l *line.Line) error {
	document, err := os.ReadFile("../../docs/alerts-and-metrics.md")
	if err != nil {
		return err
	}
	var errs []error
	observed := map[string]uint64{}
	for _, process := range []*line.Reroll{l.Ingest, l.Dispatch, l.Reroll} {
		families, err := gather(ctx, process.Ops+"/metrics")
		if err != nil {
			return err
		}
		for _, family := range families {
			name := family.GetName()
			if !strings.HasPrefix(name, "reroll_") {
				continue
			}
			if !documented(string(document), name) {
				errs = append(errs, fmt.Errorf("docs/alerts-and-metrics.md does not know %s", name))
			}
			n, err := nativeCount(family)
			if err != nil {
				errs = append(errs, err)
			}
			observed[name] += n
		}
	}
	for _, name := range []string{
		"reroll_ingest_request_duration_seconds", "reroll_ingest_put_duration_seconds", "reroll_ingest_event_age_seconds",
		"reroll_queue_publish_duration_seconds", "reroll_api_request_duration_seconds",
	} {
		if observed[name] == 0 {
			errs = append(errs, fmt.Errorf("%s has measured nothing", name))
		}
	}
	for _, name := range []string{
		"reroll_reload_stage_seconds", "reroll_change_to_patch_seconds", "reroll_decision_to_patch_seconds", "reroll_rollout_duration_seconds", "reroll_sweep_duration_seconds",
	} {
		if _, there := observed[name]; !there {
			errs = append(errs, fmt.Errorf("nobody exposes %s", name))
		}
	}
	return errors.Join(errs...)
}

// gather returns the metric families at an address.
func gather(ctx context.Context, url string) (families []*dto.MetricFamily, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", protobuf)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/vnd.google.protobuf") {
		return nil, fmt.Errorf("%s answers with %s, not with protobuf", url, got)
	}
	in := bufio.NewReader(answer.Body)
	for {
		family := &dto.MetricFamily{}
		err := protodelim.UnmarshalFrom(in, family)
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, err
		}
		families = append(families, family)
	}
}

// nativeCount returns how often a histogram of times has measured something, and an error unless it did so natively as well as in classic
// buckets. Of what is no histogram of times it returns nothing.
func nativeCount(family *dto.MetricFamily) (n uint64, err error) {
	if family.GetType() != dto.MetricType_HISTOGRAM || !strings.HasSuffix(family.GetName(), "_seconds") {
		return 0, nil
	}
	for _, m := range family.GetMetric() {
		h := m.GetHistogram()
		switch {
		case h.Schema == nil:
			return n, fmt.Errorf("%s is no native histogram", family.GetName())
		case len(h.GetBucket()) == 0:
			return n, fmt.Errorf("%s has no classic buckets", family.GetName())
		case h.GetSampleCount() > h.GetZeroCount() && len(h.GetPositiveSpan())+len(h.GetNegativeSpan()) == 0:
			return n, fmt.Errorf("%s has measured %d times, and no native bucket has any", family.GetName(), h.GetSampleCount())
		}
		n += h.GetSampleCount()
	}
	return n, nil
}

// documented looks for a name in a document, also in two parts: the room's with an ellipsis, and the rest.
func documented(document, name string) bool {
	if strings.Contains(document, "`"+name) {
		return true
	}
	room, rest, _ := strings.Cut(strings.TrimPrefix(name, "reroll_"), "_")
	return strings.Contains(document, "`reroll_"+room+"_…`") && strings.Contains(document, "`"+rest+"`")
}
