package observability

// panel is one panel of the dashboard.
type panel struct {
	title, about string
	// kind is timeseries or stat, unit one of Grafana's, such as s for seconds.
	kind, unit string
	// width is of 24 columns.
	width   int
	queries []query
	// red is the value from which a stat is red; 0 if it never is.
	red float64
}

// query is a PromQL expression, and what its lines are called.
type query struct{ expr, legend string }

// row is a row of panels under a title.
type row struct {
	title  string
	panels []panel
}

// these limits a query to what the variables of the dashboard select.
const these = `namespace=~"$namespace",job=~"$job"`

func stat(title, about, unit string, red float64, expr string) panel {
	return panel{title: title, about: about, kind: "stat", unit: unit, width: 4, red: red, queries: []query{{expr, ""}}}
}

func lines(title, about, unit string, queries ...query) panel {
	return panel{title: title, about: about, kind: "timeseries", unit: unit, width: 8, queries: queries}
}

// quantiles are the median, and what one in twenty and one in a hundred exceed.
func quantiles(metric, by string) (queries []query) {
	labels, legend := "le", ""
	if by != "" {
		labels, legend = "le, "+by, "{{"+by+"}} "
	}
	for _, q := range []struct{ name, value string }{{"p50", "0.5"}, {"p95", "0.95"}, {"p99", "0.99"}} {
		expr := "histogram_quantile(" + q.value + ", sum by (" + labels + ") (rate(" + metric + "_bucket{" + these + "}[$__rate_interval])))"
		queries = append(queries, query{expr, legend + q.name})
	}
	return queries
}

func perSecond(metric, by string) query {
	return query{"sum by (" + by + ") (rate(" + metric + "{" + these + "}[$__rate_interval]))", "{{" + by + "}}"}
}

func sum(metric, matchers string) string {
	if matchers != "" {
		matchers = "," + matchers
	}
	return "sum(" + metric + "{" + these + matchers + "})"
}

// rows are the dashboard, from the most urgent to the most detailed.
var rows = []row{
	{"Is it well?", []panel{
		stat("Silent feeds", "API servers' audit feeds that are silent: changes are found by sweeps only.", "short", 1, "max(reroll_feed_silent{"+these+"})"),
		stat("Dead letters", "Workloads that cannot be patched and will not be without help.", "short", 1, sum("reroll_dead_letters", "")),
		stat("Stalled rollouts, last hour", "Workloads that did not come up after a reload.", "short", 1,
			`sum(increase(reroll_rollouts_total{`+these+`,result="Stalled"}[1h]))`),
		stat("Missed by the feed, last day", "Changes that only a sweep has found.", "short", 1, "sum(increase(reroll_sweep_drift_total{"+these+"}[1d]))"),
		stat("Late patches, last hour", "Patches that came more than 30 seconds after the change.", "percentunit", 0.01,
			"max(reroll:change_to_patch_late:ratio_rate1h{"+these+"})"),
		stat("Held workloads", "Workloads that wait for longer than their quiet window.", "short", 0, sum("reroll_held_workloads", "")),
		stat("Tracked workloads", "Workloads that opted in.", "short", 0, sum("reroll_tracked_workloads", "")),
		stat("Rolled, last day", "Workloads that were rolled.", "short", 0, `sum(increase(reroll_reloads_total{`+these+`,outcome="Reloaded"}[1d]))`),
		stat("Changes, last day", "Verified changes of configs.", "short", 0, `sum(increase(reroll_changes_total{`+these+`,type!="Baseline"}[1d]))`),
		stat("Since the last sweep", "Time since every config was last looked at.", "s", 0, "time() - max(reroll_sweep_completed_timestamp_seconds{"+these+"} > 0)"),
		stat("Leaders", "With several replicas: how many of them work; one should.", "short", 2, sum("reroll_leader", "")),
		stat("Hub reached", "With a hub: 1 while it takes the records.", "short", 0, "max(reroll_forward_up{"+these+"})"),
	}},
	{"The audit feed", []panel{
		lines("Requests by answer", "Requests of API servers to the ingest.", "reqps", perSecond("reroll_ingest_requests_total", "code")),
		lines("Events by result", "Audit events in accepted requests, and why most of them become no hint.", "eps", perSecond("reroll_ingest_events_total", "result")),
		lines("Hints", "Hints stored, and what became of those that were taken from the stream.", "eps",
			query{"sum(rate(reroll_ingest_hints_total{" + these + "}[$__rate_interval]))", "stored"}, perSecond("reroll_hints_total", "result")),
		lines("Time to store a request's hints", "The API server waits for it.", "s", quantiles("reroll_ingest_put_duration_seconds", "")...),
		lines("Requests by cluster", "Requests of API servers to the ingest; those without a cluster are of strangers.", "reqps", perSecond("reroll_ingest_requests_total", "cluster")),
		lines("Age of events when they come", "How long the API servers, or who ships their logs, had them.", "s", quantiles("reroll_ingest_event_age_seconds", "cluster")[1:2]...),
		lines("Time to answer a request", "From its head to the answer, however that was.", "s", quantiles("reroll_ingest_request_duration_seconds", "")...),
		lines("Canary", "Time since a canary last came back from the quietest API server.", "s",
			query{"max by (job) (reroll_canary_age_seconds{" + these + "})", "{{job}}"}),
		lines("API servers by state", "What canaries tell about the audit events of each.", "short",
			query{"sum by (state) (reroll_canary_addresses{" + these + "})", "{{state}}"}),
	}},
	{"Reloads", []panel{
		lines("Decisions by outcome", "Decisions about workloads whose config has changed.", "ops", perSecond("reroll_reloads_total", "outcome")),
		lines("Changes by source", "Verified changes. Only a resync found those by sweep.", "ops", query{
			"sum by (source) (rate(reroll_changes_total{" + these + `,type!="Baseline"}[$__rate_interval]))`, "{{source}}",
		}),
		lines("From change to patch", "What users see: from the end of the request that changed a config to the accepted patch.", "s",
			quantiles("reroll_change_to_patch_seconds", "")...),
		lines("From decision to patch", "What the API server and our own queue take of it.", "s", quantiles("reroll_decision_to_patch_seconds", "")...),
		lines("Rollouts by result", "What became of reloads.", "ops", perSecond("reroll_rollouts_total", "result")),
		lines("Duration of rollouts", "From the patch until all pods run the new template.", "s", quantiles("reroll_rollout_duration_seconds", "")...),
		lines("Held, by reason", "Workloads that wait for longer than their quiet window.", "short",
			query{"sum by (reason) (reroll_held_workloads{" + these + "})", "{{reason}}"}),
		lines("Pending", "Workloads that wait to be rolled, and those that cannot be patched.", "short",
			query{sum("reroll_pending_workloads", ""), "pending"}, query{sum("reroll_dead_letters", ""), "dead letters"}),
		lines("Reads of configs", "Reads from the API server: content only where the metadata was new.", "ops", perSecond("reroll_config_reads_total", "part")),
	}},
	{"Store, API and hub", []panel{
		lines("Time to store a batch", "Until NATS has it on disk.", "s", quantiles("reroll_queue_publish_duration_seconds", "stream")[2]),
		lines("Unreadable messages", "Messages that could not be read.", "short",
			query{"sum by (stream) (increase(reroll_queue_unreadable_total{" + these + "}[$__rate_interval]))", "{{stream}}"}),
		lines("Room used", "Part of its limit that each stream has used, and all of them of the store. HISTORY drops its oldest at 100 %, the others refuse.", "percentunit",
			query{"max by (stream) (reroll_queue_stream_bytes{" + these + "} / reroll_queue_stream_max_bytes{" + these + "})", "{{stream}}"},
			query{"max(reroll_queue_store_bytes{" + these + "} / reroll_queue_store_max_bytes{" + these + "})", "store"}),
		lines("REST API by answer", "Requests to the REST API.", "reqps", perSecond("reroll_api_requests_total", "code")),
		lines("REST API, time", "One in a hundred requests takes longer.", "s", quantiles("reroll_api_request_duration_seconds", "route")[2]),
		lines("REST API, denied", "Requests that were denied, and why.", "reqps", perSecond("reroll_api_denied_total", "reason")),
		lines("Behind the hub", "Records that are stored here and not yet at the hub.", "short",
			query{"sum by (job, stream) (reroll_forward_behind{" + these + "})", "{{job}} {{stream}}"}),
		lines("Brought to the hub", "Records that the hub has stored.", "ops", perSecond("reroll_forward_records_total", "stream")),
		lines("Gaps and interruptions", "Records missing at the hub, and how often the connection was lost.", "short",
			query{"sum by (stream) (increase(reroll_forward_gaps_total{" + these + "}[$__rate_interval]))", "gaps in {{stream}}"},
			query{"sum by (stream) (increase(reroll_forward_interruptions_total{" + these + "}[$__rate_interval]))", "interruptions of {{stream}}"}),
	}},
	{"Process", []panel{
		lines("CPU", "Seconds of CPU time in a second.", "short", query{"sum by (instance) (rate(process_cpu_seconds_total{" + these + "}[$__rate_interval]))", "{{instance}}"}),
		lines("Memory", "Resident memory.", "bytes", query{"sum by (instance) (process_resident_memory_bytes{" + these + "})", "{{instance}}"}),
		lines("Goroutines", "They should be level under a level load.", "short", query{"sum by (instance) (go_goroutines{" + these + "})", "{{instance}}"}),
		lines("Requests to the API server", "Without those of other processes.", "reqps", perSecond("rest_client_requests_total", "code")),
		lines("Requests to the API server, time", "Waiting for kubernetes.qps is in it.", "s", quantiles("rest_client_request_duration_seconds", "")...),
		lines("Events dropped", "Kubernetes Events that were not written; the reloads are on record all the same.", "short",
			query{"sum(increase(reroll_events_dropped_total{" + these + "}[$__rate_interval]))", "dropped"}),
	}},
}
