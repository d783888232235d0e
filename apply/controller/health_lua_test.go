package controller

import (
	"fmt"
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// argoHealth runs the health check of examples/delivery for an object, as Argo CD
// does: with the same Lua, which has the object in obj, and without its libraries.
func argoHealth(t *testing.T, kind string, object map[string]any) string {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(t.Context())
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(healthCheck(t, kind)); err != nil {
		t.Fatalf("health check of %s: %v", kind, err)
	}
	answer, is := state.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("the health check of %s answers with %v", kind, state.Get(-1))
	}
	if message := answer.RawGetString("message").String(); message == "" {
		t.Errorf("the health check of %s gives no message", kind)
	}
	return answer.RawGetString("status").String()
}

// healthCheck is that of a kind in the example.
func healthCheck(t *testing.T, kind string) string {
	t.Helper()
	data, err := os.ReadFile("../../examples/delivery/argocd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n---\n")
	var config corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(first), &config); err != nil {
		t.Fatal(err)
	}
	script := config.Data["resource.customizations.health.nodes.lailin.xyz_"+kind]
	if script == "" {
		t.Fatalf("there is no health check of %s", kind)
	}
	return script
}

// luaValue is a value of JSON in Lua.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := state.NewTable()
		for _, element := range v {
			list.Append(luaValue(state, element))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, element := range v {
			table.RawSetString(key, luaValue(state, element))
		}
		return table
	default:
		panic(fmt.Sprintf("JSON has no %T", value))
	}
}
