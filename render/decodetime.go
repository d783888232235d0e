package render

import (
	"reflect"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// durationPattern is that of the schema.
var durationPattern = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)

// temporal fills a duration or a moment, and reports whether the value is one.
func (d *decoder) temporal(at, node *yaml.Node, into reflect.Value, path *field.Path) bool {
	switch value := into.Addr().Interface().(type) {
	case *metav1.Duration:
		var duration metav1.Duration
		err := duration.UnmarshalJSON([]byte(strconv.Quote(node.Value)))
		if problem, _ := notText(node); problem != "" || err != nil || !durationPattern.MatchString(node.Value) {
			d.fault(at, path, "must be a duration, and is "+describe(node), "write hours, minutes and seconds, as in 4h or 1h30m")
			return true
		}
		*value = duration
	case *metav1.Time:
		// Without quotes it is a timestamp to YAML, and no text.
		err := value.UnmarshalText([]byte(node.Value))
		if node.Kind != yaml.ScalarNode || err != nil {
			d.fault(at, path, "must be a date and a time, and is "+describe(node), "write it as RFC 3339 does, with the offset from UTC: 2026-12-18T00:00:00+01:00")
			return true
		}
	default:
		return false
	}
	return true
}
