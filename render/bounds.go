package render

// What Load reads comes from a repository that anybody may have written to, so
// everything that costs memory or time has a bound. All of them are far above
// what pools need: the largest pool that the schema allows, with a thousand
// node names of full length, is about 300 KiB.
const (
	// maxEntries is the number of files and folders of a tree that are visited, of
	// any kind. A few kilobytes of Git objects that name each other can encode a
	// tree of any size.
	maxEntries = 200_000
	// maxFiles is the number of YAML files in a tree.
	maxFiles = 10_000
	// maxFileName is the length of a file's path, in bytes.
	maxFileName = 1024
	// maxFileBytes is the size of one file.
	maxFileBytes = 1 << 20
	// maxTotalBytes is the size of all YAML files together.
	maxTotalBytes = 64 << 20
	// maxDocuments is the number of documents in one file.
	maxDocuments = 1000
	// maxDocumentBytes is the size of one document. The parser takes up to 250
	// bytes of memory for each byte of the densest YAML there is.
	maxDocumentBytes = 512 << 10
	// maxDepth is how deep lists and maps may be nested within each other in
	// one document. The parser itself gives up at 10,000.
	maxDepth = 32
	// maxNodes is the number of keys and values in one document, counted twice:
	// as they are written, and as they are read, with every alias and merge key
	// written out.
	maxNodes = 50_000
	// maxTreeNodes is the same for all documents of a tree, as they are read: time
	// and memory grow with it, also where no pool is valid.
	maxTreeNodes = 2_000_000
	// maxPools is the number of pools in a tree. Each is sent to the API server,
	// and may be matched against every node that joins; large fleets have some
	// hundreds.
	maxPools = 10_000
	// maxPoolBytes is the size of one pool as the API server stores it, in JSON with
	// every alias written out. Managed fields can double that, and a request to etcd
	// may have 1.5 MiB.
	maxPoolBytes = 512 << 10
	// maxPoolsBytes is the size of all pools of a tree together: 1.6 KiB on
	// average for maxPools. etcd keeps every version of each for some minutes, and
	// holds 2 GiB by default; the controller keeps all pools in memory.
	maxPoolsBytes = 16 << 20
	// MaxAncestors is the number of pools that may enclose a pool.
	MaxAncestors = 32

	// maxProblems is the number of problems that are reported for a tree, and
	// maxDocumentProblems that for one document.
	maxProblems         = 1000
	maxDocumentProblems = 100
	// maxText is the length of a message or a hint, maxValue that of a user's
	// value within it, both in characters.
	maxText  = 600
	maxValue = 80
	// maxSuggestNames is the number of pool names up to which a missing parent
	// is compared with each of them to find the one that was meant.
	maxSuggestNames = 500
)
