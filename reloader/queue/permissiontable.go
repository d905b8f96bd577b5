package queue

import "slices"

// Sets of roles in the table.
var (
	admins     = []Role{RoleAdmin, RoleHubAdmin}
	hubAdmins  = []Role{RoleHubAdmin}
	everybody  = Roles()
	hinters    = []Role{RoleIngest, RoleDispatch}
	dispatches = []Role{RoleDispatch}
	answerers  = []Role{RoleAPI, RoleHubAPI}
	forwards   = []Role{RoleForward}
	recorders  = []Role{RoleDispatch, RoleForward}
	readers    = []Role{RoleDispatch, RoleAPI, RoleHubAPI}
)

// permissionTable is every subject that Reroll publishes on, with who needs it and why. Configurations, error messages and the command
// that prints permissions are made of it. JetStream compares the filter at the end of CONSUMER.CREATE with that of the request, and
// DIRECT.GET with a subject at its end gives no other message, so that both can be permitted for one cluster alone.
var permissionTable = slices.Concat(
	[]permissionRow{
		{"$JS.API.INFO", "ask which features the server has", everybody},
		{hintPrefix + "." + clusterToken + ".>", "store hints", hinters},
		{"$JS.API.STREAM.INFO." + hintsStream, "look at the stream of hints", slices.Concat(hinters, []Role{RoleAdmin})},
	},
	setupRows(hintsStream, []Role{RoleAdmin}),
	setupRows(changesStream, admins), setupRows(reloadsStream, admins), setupRows(workloadsStream, admins),
	setupRows(clustersStream, admins), setupRows(followsStream, hubAdmins),
	[]permissionRow{
		{"$JS.API.CONSUMER.CREATE." + hintsStream + "." + consumerName(clusterToken) + "." + hintPrefix + "." + clusterToken + ".>", "make the consumer of hints", []Role{RoleAdmin}},
		{"$JS.API.CONSUMER.INFO." + hintsStream + "." + consumerName(clusterToken), "find the consumer of hints", []Role{RoleAdmin, RoleDispatch}},
		{"$JS.API.CONSUMER.MSG.NEXT." + hintsStream + "." + consumerName(clusterToken), "consume hints", dispatches},
		{"$JS.ACK." + hintsStream + "." + consumerName(clusterToken) + ".>", "acknowledge hints", dispatches},
		{"$JS.ACK.*.*." + hintsStream + "." + consumerName(clusterToken) + ".>", "acknowledge hints, in the form of later servers", dispatches},
		{"$JS.API.STREAM.PURGE." + hintsStream, "make room for hints", dispatches},
		{"$JS.API.STREAM.PURGE." + changesStream, "drop the changes of deleted configs", []Role{RoleDispatch, RoleHubAPI}},
		{"$JS.API.STREAM.PURGE." + changesStream, "drop the changes of a removed cluster", hubAdmins},
		{"$JS.API.STREAM.PURGE." + reloadsStream, "drop the reloads of a removed cluster", hubAdmins},
		{"$JS.API.STREAM.PURGE." + workloadsStream, "drop the records of workloads of a removed cluster", hubAdmins},
		{"$JS.API.STREAM.PURGE." + clustersStream, "free the name of a removed cluster", hubAdmins},
		{"$JS.API.STREAM.PURGE." + followsStream, "drop what a removed cluster tells and is told", hubAdmins},
		{"$JS.API.DIRECT.GET." + clustersStream + "." + clusterPrefix + ".*", "see which cluster a name stands for", hubAdmins},
		{"$JS.API.DIRECT.GET." + clustersStream + "." + anyClusterStatus, "see when a cluster was last heard of", hubAdmins},
		{wantPrefix + ".*.*", "tell owners that a removed cluster follows nothing", hubAdmins},
		{anyClusterStatus, "tell that a cluster was removed", hubAdmins},
		{anyClusterRemoved, "tell those who come later that a cluster was removed", hubAdmins},
		{"$JS.API.CONSUMER.CREATE." + clustersStream + ".*." + anyClusterRemoved, "read which clusters were removed", answerers},
		{"$JS.API.STREAM.INFO." + changesStream, "look at the stream of changes", slices.Concat(readers, admins)},
		{"$JS.API.STREAM.INFO." + reloadsStream, "look at the stream of reloads", slices.Concat(readers, admins)},
		{"$JS.API.STREAM.INFO." + workloadsStream, "look at the records of workloads", slices.Concat(readers, admins)},
		{"$JS.API.STREAM.INFO." + clustersStream, "look at the names of clusters", slices.Concat(readers, admins)},
		{changePrefix + "." + clusterToken + ".>", "store changes", recorders},
		{reloadPrefix + "." + clusterToken + ".>", "store reloads", recorders},
		{workloadPrefix + "." + clusterToken + ".>", "store the records of workloads", recorders},
		{clusterPrefix + "." + clusterToken, "bind the name of the cluster to its UID", recorders},
		{clusterPrefix + "." + clusterToken + "." + statusToken, "tell that the cluster is alive", recorders},
		{"$JS.API.DIRECT.GET." + changesStream + "." + changePrefix + "." + clusterToken + ".>", "read the newest change of a config", recorders},
		{"$JS.API.DIRECT.GET." + changesStream + "." + changePrefix + ".>", "see whether a config is still deleted", []Role{RoleHubAPI}},
		{"$JS.API.DIRECT.GET." + reloadsStream + "." + reloadPrefix + "." + clusterToken + ".>", "read the newest reload of a workload", recorders},
		{"$JS.API.DIRECT.GET." + workloadsStream + "." + workloadPrefix + "." + clusterToken + ".>", "read the record of a workload", forwards},
		{"$JS.API.DIRECT.GET." + clustersStream + "." + clusterPrefix + "." + clusterToken, "read the UID of the cluster", recorders},
		{"$JS.API.DIRECT.GET." + clustersStream + "." + clusterPrefix + "." + clusterToken + "." + statusToken, "read how far the records of the cluster are", forwards},
		{"$JS.API.STREAM.INFO." + followsStream, "look at the copies of configs", hubAdmins},
		{followPrefix + "." + clusterToken + ".>", "tell other clusters of its configs", forwards},
		{"$JS.API.DIRECT.GET." + followsStream + "." + followPrefix + "." + clusterToken + ".>", "see what other clusters were told", forwards},
		{"$JS.API.DIRECT.GET." + followsStream + "." + followPrefix + ".*." + clusterToken + ".>", "read what other clusters tell", forwards},
		{wantPrefix + ".*." + clusterToken, "tell other clusters what it follows", forwards},
	},
	[]permissionRow{},
	readerRows(changesStream, "changes", changePrefix+"."+clusterToken+".>", changePrefix+".>", readers),
	readerRows(reloadsStream, "reloads", reloadPrefix+"."+clusterToken+".>", reloadPrefix+".>", readers),
	readerRows(workloadsStream, "the records of workloads", workloadPrefix+"."+clusterToken+".>", workloadPrefix+".>", readers),
	readerRows(clustersStream, "the statuses of clusters", "", anyClusterStatus, answerers),
)

// subscriptionTable is every subject that a role subscribes to besides its own inbox.
var subscriptionTable = []permissionRow{
	{toldPrefix + "." + followPrefix + ".*." + clusterToken + ".>", "hear of changes in other clusters", forwards},
	{toldPrefix + "." + wantPrefix + "." + clusterToken + ".*", "hear what other clusters follow", forwards},
}

// setupRows are the rights to make a stream and to bring it up to date.
func setupRows(stream string, roles []Role) []permissionRow {
	return []permissionRow{
		{"$JS.API.STREAM.CREATE." + stream, "make the stream " + stream, roles},
		{"$JS.API.STREAM.UPDATE." + stream, "bring the stream " + stream + " up to date", roles},
	}
}

// readerRows are the rights to read all of a stream that matches a filter: own is that of a dispatcher, if it has one, and all that
// of those who answer.
func readerRows(stream, what, own, all string, roles []Role) []permissionRow {
	rows := []permissionRow{{"$JS.API.CONSUMER.CREATE." + stream + ".*." + all, "read " + what, answerers}}
	if own != "" {
		rows = append(rows, permissionRow{"$JS.API.CONSUMER.CREATE." + stream + ".*." + own, "read " + what + " of the cluster", dispatches})
	}
	return append(rows,
		permissionRow{"$JS.API.CONSUMER.MSG.NEXT." + stream + ".*", "read " + what, roles},
		permissionRow{"$JS.API.CONSUMER.INFO." + stream + ".*", "see whether a reader of " + what + " is still there", roles},
		permissionRow{"$JS.API.CONSUMER.DELETE." + stream + ".*", "end a reader of " + what, roles})
}
