#!/bin/sh
# Writes down what is in the cluster, and pushes it to a branch of its own, where
# review.sh finds it. Run it nightly. It needs nodepools, git, and in KUBECONFIG the
# file of a user that has the role of 'nodepools install --viewer', or more.
#
# The branch has one commit with one file, made anew each time: the repository does
# not grow by it, and no branch that people work on is touched. Settings from the
# environment:
#
#   INVENTORY   the file, which may be in a folder (inventory.json)
#   BRANCH      the branch (inventory)
#   REMOTE      where it is pushed to: a name or a URL (origin)
#   PUSH_TOKEN  a token that may push there, where git has no credential of its own
set -eu
umask 077

: "${INVENTORY:=inventory.json}" "${BRANCH:=inventory}" "${REMOTE:=origin}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM

nodepools inventory --output "$work/inventory"

# Git asks this program for a user and a password: so the token is on no command
# line, in no URL and in no file.
if [ -n "${PUSH_TOKEN-}" ]; then
	cat >"$work/askpass" <<-'EOF'
		#!/bin/sh
		case $1 in
		Username*) echo oauth2 ;;
		*) printf '%s\n' "$PUSH_TOKEN" ;;
		esac
	EOF
	chmod +x "$work/askpass"
	export PUSH_TOKEN GIT_ASKPASS="$work/askpass" GIT_TERMINAL_PROMPT=0
fi

export GIT_AUTHOR_NAME=nodepools GIT_AUTHOR_EMAIL=nodepools@invalid
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
blob=$(git hash-object -w --no-filters "$work/inventory")
export GIT_INDEX_FILE="$work/index" # not that of the clone
git update-index --add --cacheinfo 100644 "$blob" "$INVENTORY"
tree=$(git write-tree)
commit=$(git commit-tree -m 'Write down the cluster' "$tree")
git push --quiet --force "$REMOTE" "$commit:refs/heads/$BRANCH"
