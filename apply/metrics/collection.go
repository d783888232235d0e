package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/nodepools/nodepools/api/sanitize"
)

// maxLabel bounds the value of a label, in bytes. A name has at most 253, and the type of a
// condition 316: these tell samples apart, and are never clipped. The name of a branch in a
// revision may be longer, and so may a reason.
const maxLabel = 316

// collection is one scrape.
type collection struct {
	out chan<- prometheus.Metric
	now time.Time

	// A scrape has thousands of samples with several labels each. Allocated one by one,
	// they cost more than all else that is done for them here.
	samples slab[sample]
	pairs   slab[dto.LabelPair]
	lists   slab[*dto.LabelPair]
	texts   slab[string]
}

// slab allocates many at once.
type slab[T any] struct{ free []T }

const slabSize = 1024

// take returns the next ones.
func (s *slab[T]) take(count int) []T {
	if len(s.free) < count {
		s.free = make([]T, max(count, slabSize))
	}
	taken := s.free[:count:count]
	s.free = s.free[count:]
	return taken
}

func (c *collection) gauge(of *Definition, value float64, labels ...string) {
	c.send(of, prometheus.GaugeValue, value, labels)
}

// flag reports 1 for true, and 0 for false.
func (c *collection) flag(of *Definition, is bool, labels ...string) {
	value := 0.0
	if is {
		value = 1
	}
	c.gauge(of, value, labels...)
}

// timestamp reports a time; none where it is not known.
func (c *collection) timestamp(of *Definition, at time.Time, labels ...string) {
	if !at.IsZero() {
		c.gauge(of, float64(at.UnixMilli())/1000, labels...)
	}
}

// counts reports the counts of the objects that exist.
func (c *collection) counts(of *perObject, exists map[string]bool) {
	for _, counted := range of.take(exists) {
		c.send(of.definition, prometheus.CounterValue, counted.value, counted.labels)
	}
}

func (c *collection) send(of *Definition, kind prometheus.ValueType, value float64, labels []string) {
	d := descriptors[of]
	pairs := c.pairs.take(len(labels))
	list := c.lists.take(len(labels))
	texts := c.texts.take(len(labels))
	for i, at := range d.byName {
		texts[i] = safe(labels[at])
		pairs[i].Name, pairs[i].Value = &of.Labels[at], &texts[i]
		list[i] = &pairs[i]
	}
	s := &c.samples.take(1)[0]
	*s = sample{d.desc, kind, value, list}
	c.out <- s
}

// sample is one value. Its labels are sorted by their names.
type sample struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  float64
	labels []*dto.LabelPair
}

// Desc implements [prometheus.Metric].
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements [prometheus.Metric].
func (s *sample) Write(into *dto.Metric) error {
	into.Label = s.labels
	if s.kind == prometheus.CounterValue {
		into.Counter = &dto.Counter{Value: &s.value}
	} else {
		into.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// descriptor is what the samples of a metric have in common.
type descriptor struct {
	desc *prometheus.Desc
	// byName are the places of the labels, sorted by their names.
	byName []int
}

// safe returns a text of others as the value of a label: one line in UTF-8, without which
// no metric at all would be served.
func safe(text string) string { return sanitize.Line(sanitize.Clip(text, maxLabel)) }
