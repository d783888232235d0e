package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
)

func TestParseProxy(t *testing.T) {
	long := strings.Repeat("x", maxSOCKS+1)
	for name, c := range map[string]struct {
		data map[string]string
		want string // the proxy, or a part of the error
	}{
		"http":            {map[string]string{"address": "http://p:3128\n"}, "http://p:3128"},
		"https":           {map[string]string{"address": "https://p/"}, "https://p"},
		"SOCKS":           {map[string]string{"address": "socks5://p:1"}, "socks5://p:1"},
		"login":           {map[string]string{"address": "http://p", "username": "u", "password": "a@b:/ "}, "http://u:a%40b%3A%2F%20@p"},
		"token":           {map[string]string{"address": "http://p", "username": canary}, "http://" + canary + ":@p"},
		"other keys":      {map[string]string{"address": "http://p", "bearerToken": canary}, "http://p"},
		"literal address": {map[string]string{"address": "http://[2001:db8::1]:3128"}, "http://[2001:db8::1]:3128"},

		"nothing":           {nil, "the key address is missing"},
		"empty":             {map[string]string{"address": "\n"}, "the key address is missing"},
		"no scheme":         {map[string]string{"address": "p:3128"}, "address is no URL"},
		"no host":           {map[string]string{"address": "http://:3128"}, "address is no URL"},
		"another scheme":    {map[string]string{"address": "ftp://p"}, "address is no URL"},
		"a port of letters": {map[string]string{"address": "http://p:" + canary}, "address is no URL"},
		"port 0":            {map[string]string{"address": "http://p:0"}, "from 1 to 65535"},
		"port too high":     {map[string]string{"address": "http://p:65536"}, "from 1 to 65535"},
		"control character": {map[string]string{"address": "http://p\u202e" + canary}, "address is no URL"},
		"login in address":  {map[string]string{"address": "http://u:" + canary + "@p"}, "address has a login in it"},
		"path":              {map[string]string{"address": "http://p/" + canary}, "address has more than"},
		"query":             {map[string]string{"address": "http://p?" + canary}, "address has more than"},
		"password alone":    {map[string]string{"address": "http://p", "password": canary}, "the key username is missing"},
		"colon":             {map[string]string{"address": "http://p", "username": "a:b", "password": canary}, "username has a colon"},
		"SOCKS, long":       {map[string]string{"address": "socks5://p", "username": "u", "password": long}, "between 1 and 255 bytes"},
		"SOCKS, empty":      {map[string]string{"address": "socks5://p", "username": canary}, "between 1 and 255 bytes"},
	} {
		data := map[string][]byte{}
		for key, value := range c.data {
			data[key] = []byte(value)
		}
		proxy, err := ParseProxy(data)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || !errors.Is(err, source.ErrCredential) || source.Hint(err) == "" {
				t.Errorf("%s: %v, want %s; hint %q", name, err, c.want, source.Hint(err))
			}
			if printed := fmt.Sprintf("%v %+v %#v %s", err, err, err, source.Hint(err)); strings.Contains(printed, canary) {
				t.Errorf("%s: a value of the Secret is in %s", name, printed)
			}
			continue
		}
		if by, err := proxy.For(&url.URL{Scheme: "https", Host: "git.example.com"}); err != nil || by.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", name, by, err, c.want)
		}
		if printed := fmt.Sprintf("%v %+v %#v %s", proxy, proxy, proxy, proxy); printed != "proxy proxy proxy proxy" {
			t.Errorf("%s: it prints %s", name, printed)
		}
	}
}

func TestNoProxy(t *testing.T) {
	proxy, err := ParseProxy(map[string][]byte{"address": []byte("http://p"), "noProxy": []byte("git.example.com, .internal:22,10.0.0.0/8\n")})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"git.example.com": false, "a.git.example.com": false, "example.com": true, "a.internal:22": false, "a.internal": true,
		"10.1.2.3:22": false, "192.0.2.1": true, "localhost": false, "127.0.0.1:8080": false,
	} {
		if by, err := proxy.For(&url.URL{Scheme: "https", Host: host}); err != nil || (by != nil) != want {
			t.Errorf("%s: %v, %v; by the proxy is %t", host, by, err, want)
		}
	}
}
