package main

// other is what somebody else's program reaches on the same work: 5,000 nodes, a
// label and a taint each. They were measured once, on 2 cores, each beside the bare
// client of its own run, and are not measured again by this program; so of times
// only ratios are comparable, and those of joining roughly.
type other struct {
	name     string
	converge extent // multiples of the bare client
	memory   extent // MiB at the most
	join     extent // ms from the creation of a node: half of them, 99 of 100
}

// extent is from a number to a number; the zero value is not known.
type extent struct{ from, to float64 }

func (e extent) known() bool { return e != extent{} }

// exactly is an extent of one number.
func exactly(n float64) extent { return extent{n, n} }

var others = []other{
	{
		name:     "Flux, Node manifests", // notified of a push; by polling it is slower
		converge: extent{6.3, 11.8},
		memory:   exactly(223 + 102), // its two controllers
	},
	{
		name:     "OpenYurt NodePool, as shipped",
		converge: exactly(23),
		memory:   exactly(126),
		join:     extent{11, 20},
	},
	{
		name:     "OpenYurt, client limit off",
		converge: extent{1.2, 1.5},
		memory:   exactly(128),
		join:     extent{10, 22},
	},
	{
		name:     "node-readiness-controller",
		converge: exactly(8),
		memory:   extent{140, 586},
		join:     extent{18, 115},
	},
	{
		name:     scripted,
		converge: exactly(7.5),
	},
}

// scripted is what people do today. A run that has measured it itself shows its own
// figure instead.
const scripted = "kubectl label + kubectl taint"
