// Package migrate_test moves a cluster with running pods from Stakater Reloader to Reroll and back, by the commands of the guide.
package migrate
