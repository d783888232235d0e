#!/bin/sh
# Writes down what is in the cluster, and pushes it to a branch of its own, where
# review.sh finds it. Run it nightly. It needs nodepools, git, and in KUBECONFIG the
# file of a user that has the role of 'nodepools install --viewer', or more.
#
# The branch has one commit with one file, made anew each time: the repository does
# not grow by it. A branch that has anything else is left as it is: it is one that
# people work on, or has the inventory of another cluster. Settings from the
# environment:
#
#   INVENTORY   the file, which may be in a folder (inventory.json)
#   BRANCH      the branch, one for each cluster (inventory)
#   REMOTE      where it is pushed to: a name or a URL (origin)
#   PUSH_TOKEN  a token that may push there, where git has no credential of its own
set -eu
umask 077

# Only Git has to see the token, and only when it speaks to the server: so it is kept
# in a variable that is not exported, and taken from where jobs have it.
unset token
token=${PUSH_TOKEN-}
unset PUSH_TOKEN NODEPOOLS_PUSH_TOKEN NODEPOOLS_REVIEW_TOKEN

: "${INVENTORY:=inventory.json}" "${BRANCH:=inventory}" "${REMOTE:=origin}"
branch=refs/heads/$BRANCH
if ! git check-ref-format "$branch"; then
	echo "inventory: BRANCH is $BRANCH, which is no name of a branch" >&2
	exit 2
fi
GIT_NO_REPLACE_OBJECTS=1 # a commit is what its hash says
export GIT_NO_REPLACE_OBJECTS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM

nodepools inventory --output-file "$work/inventory"

# Git asks this program for a user and a password: so the token is on no command
# line, in no URL and in no file.
cat >"$work/askpass" <<'EOF'
#!/bin/sh
case $1 in
Username*) echo oauth2 ;;
*) printf '%s\n' "$PUSH_TOKEN" ;;
esac
EOF
chmod +x "$work/askpass"

# online is git with the token, if there is one.
online() {
	if [ -n "$token" ]; then
		PUSH_TOKEN=$token GIT_ASKPASS=$work/askpass GIT_TERMINAL_PROMPT=0 git "$@"
	else
		git "$@"
	fi
}

export GIT_AUTHOR_NAME=nodepools GIT_AUTHOR_EMAIL=nodepools@invalid
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
blob=$(git hash-object -w --no-filters "$work/inventory")
export GIT_INDEX_FILE="$work/index" # not that of the clone
git update-index --add --cacheinfo 100644 "$blob" "$INVENTORY"
tree=$(git write-tree)
commit=$(git commit-tree -m 'Write down the cluster' "$tree")

# 'git ls-remote' also lists a/refs/heads/inventory, as it compares the ends of names.
before=$(online ls-remote -- "$REMOTE" "$branch")
before=$(printf '%s\n' "$before" | BRANCH=$branch awk '$2 == ENVIRON["BRANCH"] { print $1 }')
if [ -n "$before" ]; then
	online fetch --quiet --no-tags -- "$REMOTE" "$branch"
	files=$(git ls-tree -r -z --full-tree --name-only "$before" | tr '\0' '\n')
	if [ "$files" != "$INVENTORY" ]; then
		echo "inventory: the branch $BRANCH has other files than $INVENTORY, so it is not replaced: set a BRANCH for each cluster" >&2
		exit 2
	fi
fi
# The lease keeps what somebody else has pushed since.
online push --quiet --force-with-lease="$branch:$before" -- "$REMOTE" "$commit:$branch"
