#!/bin/sh
# Builds a program of others from its Go module, once, into the user's cache:
#   sh testdata/thirdparty/build.sh helm
# The module is built by itself, with its own go.mod and go.sum.
set -eu
package=. tags= ldflags='-s -w' beside= CGO_ENABLED=0
case $1 in
gitea) # takes 10 minutes and a C compiler
	module=code.gitea.io/gitea@v1.26.0 tags=sqlite,sqlite_unlock_notify CGO_ENABLED=1
	ldflags="$ldflags -X main.Version=v1.26.0" beside='templates options public' ;;
helm)
	module=helm.sh/helm/v4@v4.3.1 package=./cmd/helm
	ldflags="$ldflags -X helm.sh/helm/v4/internal/version.version=v4.3.1" ;;
kube-state-metrics) module=k8s.io/kube-state-metrics/v2@v2.20.0 ;;
prometheus | promtool) # of all that it finds targets with, Kubernetes alone
	module=github.com/prometheus/prometheus@v0.315.1 package=./cmd/$1 tags=remove_all_sd,enable_kubernetes_sd
	ldflags="$ldflags -X github.com/prometheus/common/version.Version=v0.315.1" ;;
*) echo "no program $1" >&2; exit 2 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}
[ "$(uname)" != Darwin ] || cache=$HOME/Library/Caches
dir=$cache/nodepools/$1/${module##*@}_$(go env GOHOSTOS)-$(go env GOHOSTARCH)
[ ! -x "$dir/$1" ] || exit 0
echo "building $1 from $module, for some minutes" >&2
export CGO_ENABLED GOFLAGS=-trimpath GOWORK=off GOOS= GOARCH=
mkdir -p "$dir"
scratch=$(mktemp -d "$dir/.building.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
source=$(go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)",*$/\1/p')
cp -R "$source" "$scratch/source"
chmod -R u+w "$scratch/source"
(cd "$scratch/source" && go build -o "$scratch/$1" -ldflags "$ldflags" -tags "$tags" "$package")
for folder in $beside; do
	rm -rf "${dir:?}/$folder"
	mv "$scratch/source/$folder" "$dir/"
done
mv "$scratch/$1" "$dir/$1"
