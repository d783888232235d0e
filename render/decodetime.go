package render

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var (
	timeType     = reflect.TypeFor[metav1.Time]()
	durationType = reflect.TypeFor[metav1.Duration]()
	limitType    = reflect.TypeFor[intstr.IntOrString]()
)

// limit fills a number or a percentage.
func (d *decoder) limit(at, node *yaml.Node, into reflect.Value, path *field.Path) {
	limit := into.Addr().Interface().(*intstr.IntOrString)
	switch {
	case node.Kind == yaml.ScalarNode && node.ShortTag() == yaml.NodeTagInt:
		d.integer(at, node, reflect.ValueOf(&limit.IntVal).Elem(), path)
	case node.Kind == yaml.ScalarNode && strings.HasSuffix(node.Value, "%"):
		*limit = intstr.FromString(node.Value)
	default:
		d.fault(at, path, "must be a number or a percentage such as 10%, and is "+describe(node), "")
	}
}

// timed fills a time or a duration, which are structs to Go and texts in a file, as the
// API server reads them.
func (d *decoder) timed(at, node *yaml.Node, into reflect.Value, path *field.Path) {
	example := "a time such as 2026-12-18T00:00:00+01:00"
	if into.Type() == durationType {
		example = "a duration such as 1h30m"
	}
	if problem, _ := notText(node); problem != "" {
		d.fault(at, path, "must be "+example+", and is "+problem, "")
		return
	}
	text, err := json.Marshal(node.Value)
	if err == nil {
		err = json.Unmarshal(text, into.Addr().Interface())
	}
	if err != nil || node.Value == "" {
		d.fault(at, path, "must be "+example+", and is "+quoted(node.Value), "")
	}
	if moment, isTime := into.Addr().Interface().(*metav1.Time); isTime {
		moment.Time = moment.UTC() // and not the zone of this machine
	}
}
