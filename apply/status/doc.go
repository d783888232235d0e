// Package status shows how far nodes are in following their pools: phases, waves, what is
// waited for, and the commands by which people go on. Start with [Of], which makes a
// [Report] of the pools and nodes of a cluster, by the turns that the controller gives.
// [Report.WriteText] prints it for people, [Pool.Line] says it of one pool in a line, and
// the fields are what programs get.
//
// Phases and counts are those that the statuses of pools report. Waves are worked out from
// the nodes; where those are not known, what the statuses say is shown all the same.
//
// A report holds what is in the cluster, which may have been written to deceive. The text
// forms are safe to print to a terminal; whoever prints the fields escapes them.
package status
