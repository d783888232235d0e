#!/bin/sh
# Checks the pools of a pull request, says in one comment what merging it does to
# nodes and pods, and fails where that is more than you allow. Copy it into your
# repository; it needs nodepools, git and curl, and a POSIX shell.
#
# It runs in the root of a clone with the whole history (no shallow one), with the
# pull request checked out. It reviews what merging makes of the commit at HEAD and of
# BASE as they are, and not the files on disk: a .gitattributes can have git write
# those in another way. (A branch by itself may be harmless because it began before a
# wall of today.) The merge is made by git, of 2.38 or newer, and stays in this clone.
# Where it has the same pools as BASE, nodepools is not needed: "review.sh changed" prints
# changed=true or changed=false, so that a job knows whether to install it. It takes its
# settings from the environment:
#
#   BASE           what the pull request goes into: the full name of a branch that git
#                  has, refs/remotes/origin/main, or the full hash of a commit. A
#                  short name may stand for a tag that somebody has pushed
#   POOLS          the folder with the pools (pools)
#   SOURCE         the NodePoolSource that the pools are of, where the inventory has
#                  several
#   INVENTORY      what is known of the cluster, a file in the repository
#                  (inventory.json); where there is none, nothing is reported of nodes.
#                  Of a folder, all files that end in .json, .yaml or .yml are taken,
#                  each of one cluster; a folder has to have one
#   INVENTORY_REV  the branch or commit that has it, written as BASE is ($BASE); not
#                  the pull request, so that nobody hides pods by changing it. Several
#                  have blanks between them, and each is of one cluster. The review has
#                  a section for each cluster, with the layers of its source
#   FAIL_ON        what is too much, such as evictions>0,nodesChanged>=100 (nothing)
#   ANNOTATE       how problems in files are told: github, text, or gitlab, which
#                  writes a code quality report (text)
#   CODE_QUALITY   the file for that report (gl-code-quality-report.json)
#   FORGE          who gets the comment: github, gitlab or none (none)
#   SUMMARY        a file that the comment is appended to (without FORGE: standard
#                  output)
#   MARKER         the name of the comment, where a pull request has several
#                  (nodepools)
#   LINK           the address of this run, to point to where something fails
#   TIMEOUT        the seconds after which the review is ended, so that the comment can
#                  still say so before the job itself is (240)
#
# and with FORGE:
#
#   API            https://api.github.com, https://gitlab.example.com/api/v4
#   REPOSITORY     owner/name on GitHub, the number of the project on GitLab
#   CHANGE         the number of the pull request
#   TOKEN          may write comments there
#   BOT            the user whose token it is. On GitHub: github-actions[bot], if
#                  not said; GitLab is asked
#
# It ends with 0 where all is well, 1 where pools are not valid, 2 where something
# went wrong, and 3 where the change does more than FAIL_ON allows. The comment is
# written all the same, so that none of an earlier state is left behind.
set -u
LC_ALL=C
GIT_NO_REPLACE_OBJECTS=1 # a commit is what its hash says
export LC_ALL GIT_NO_REPLACE_OBJECTS

# No program that is started here has to see a token, under none of the names that
# jobs have it by. A variable that was exported stays so, hence the first unset.
unset secret authorization
secret=${TOKEN-}
unset TOKEN NODEPOOLS_REVIEW_TOKEN PUSH_TOKEN NODEPOOLS_PUSH_TOKEN

main() {
	began=$(date +%s)
	work=$(mktemp -d) || exit 2
	trap 'rm -rf "$work"' EXIT
	trap 'exit 2' HUP INT TERM

	revisions
	if [ "${1-}" = changed ]; then
		merge 2>/dev/null && unchanged && echo changed=false || echo changed=true
		exit 0
	fi
	settings
	known
	merge || fail 2 'This change cannot be merged as it is.'
	if unchanged; then
		[ "$ANNOTATE" != gitlab ] || echo '[]' >"$CODE_QUALITY" || exit 2
		printf '%s\nNo difference: all of %s is as it was.\n' "$marker" "$POOLS" >"$work/comment"
		comment "$work/comment" unless-first && exit 0
		exit 2
	fi
	tree "$reviewed" >/dev/null || {
		complain "there is no $POOLS after the merge, the folder with the pools"
		fail 2 'The pools of this change could not be found.'
	}
	inventories || fail 2 'What is known of the clusters could not be read.'
	validate
	case $? in
	0) ;;
	1) others 1 || fail 1 'The pools of this change are not valid.' ;;
	*) others 2 || fail 2 'The pools of this change could not be checked.' ;;
	esac
	diff
	case $? in
	0) comment "$work/comment" unless-first && exit 0 ;;
	1) comment "$work/comment" && exit 0 ;;
	3) comment "$work/comment" && exit 3 ;;
	*)
		[ "$clusters" -gt 1 ] && [ -s "$work/comment" ] && comment "$work/comment" && exit 2
		fail 2 'What this change does could not be worked out.'
		;;
	esac
	exit 2
}

# others says what the change does to all clusters, also where something is wrong in one
# of them, and ends with the code. It fails where there is nothing to say.
others() {
	[ "$clusters" -gt 1 ] || return
	diff
	[ -s "$work/comment" ] || return
	comment "$work/comment" || exit 2
	exit "$1"
}

# revisions finds the commits that are compared, each by one name that stands for
# nothing else; empty where there is none.
revisions() {
	require BASE
	: "${POOLS:=pools}" "${INVENTORY_REV:=$BASE}" "${TIMEOUT:=240}"
	case $TIMEOUT in 0* | *[!0-9]*) give_up 'TIMEOUT is not a number of seconds' ;; esac
	POOLS=${POOLS#./}
	POOLS=${POOLS%/}
	: "${POOLS:=.}"
	set -f # a name of a branch has no pattern in it
	for value in "$BASE" $INVENTORY_REV; do
		name=INVENTORY_REV
		[ "$value" != "$BASE" ] || name=BASE
		case $value in
		refs/*) git check-ref-format "$value" && continue ;;
		*[!0-9a-f]*) ;;
		????????????????????????????????????????) continue ;;
		esac
		give_up "$name is $value, which is neither a full name, such as refs/remotes/origin/main, nor the full hash of a commit"
	done
	set +f
	base=$(commit "$BASE") || base=
	head=$(commit HEAD) || head=
}

# commit is the hash of a commit by its full name. Asked for refs/remotes/origin/main,
# 'git rev-parse' would also take a branch of that whole name.
commit() {
	case $1 in
	refs/*) set -- "$(git show-ref --verify --hash -- "$1" 2>/dev/null)" ;;
	esac
	[ -n "$1" ] && git rev-parse --verify --quiet "$1^{commit}"
}

# tree is the hash of the folder with the pools in a commit. A link to it is none.
tree() {
	case $POOLS in
	.) git rev-parse --verify --quiet "$1^{tree}" ;;
	*) [ "$(git cat-file -t "$1:$POOLS" 2>/dev/null)" = tree ] && git rev-parse --verify --quiet "$1:$POOLS" ;;
	esac
}

# unchanged reports whether merging leaves the pools of the base as they are. It goes by
# the merge: filters of paths look at the first few hundred files, and the pools of a branch
# say nothing of a file that git merges into them, because the base has moved it there.
unchanged() {
	before=$(tree "$base") && [ "$before" = "$(tree "$reviewed")" ]
}

# merge sets reviewed to the commit that merging makes of HEAD and of the base, and named to
# what the comment calls it. That is HEAD where the change begins at the base, or is a merge
# with it already.
merge() {
	[ -n "$base" ] && [ -n "$head" ] || return
	reviewed=$head named=HEAD
	git merge-base --is-ancestor "$base" "$head" && return
	# In an empty working tree: the change may bring a .gitattributes by which git would
	# merge in another way.
	mkdir -p "$work/empty" && repository=$(git rev-parse --absolute-git-dir) || return
	merged=$(
		cd "$work/empty" && export GIT_DIR="$repository" GIT_WORK_TREE=. GIT_INDEX_FILE="$work/index" &&
			limited git merge-tree --write-tree --no-messages "$base" "$head"
	)
	case $? in
	0) ;;
	1)
		complain "$BASE has changed since: merge it into the branch and solve the conflicts"
		return 2
		;;
	124 | 143)
		complain "git has not merged within $TIMEOUT seconds"
		return 2
		;;
	*)
		complain 'git cannot merge: it has to be 2.38 or newer, in a clone with the whole history that can be written'
		return 2
		;;
	esac
	reviewed=$(git -c user.name=review -c user.email=review@localhost \
		commit-tree -p "$base" -p "$head" -m 'What merging makes of the change' "$merged") || return
	named=$reviewed
	complain "HEAD is reviewed as it is when merged with $BASE, which is $reviewed here"
}

settings() {
	: "${SOURCE:=}" "${INVENTORY:=inventory.json}" "${FAIL_ON:=}"
	: "${ANNOTATE:=text}" "${CODE_QUALITY:=gl-code-quality-report.json}" "${FORGE:=none}" "${SUMMARY:=}" "${LINK:=}" "${BOT:=}" "${MARKER:=nodepools}"
	case $MARKER in *[!A-Za-z0-9._/-]* | -* | *--*) give_up 'MARKER is not a name of letters, digits, dots, slashes and single dashes' ;; esac
	# The first line of what 'nodepools diff -o markdown' writes: the sign of our
	# comment.
	marker="<!-- nodepools:$MARKER -->"
	[ "$FORGE" = none ] && return

	for name in API REPOSITORY CHANGE; do require "$name"; done
	[ -n "$secret" ] || give_up 'TOKEN is not set'
	case $secret in *[!A-Za-z0-9._~+/=-]*) give_up 'TOKEN holds characters that no token has' ;; esac
	case $REPOSITORY in *[!A-Za-z0-9._/-]*) give_up 'REPOSITORY is not the name of a repository' ;; esac
	case $CHANGE in *[!0-9]*) give_up 'CHANGE is not a number' ;; esac
	case $API in
	https://* | http://127.0.0.1:* | http://localhost:*) ;;
	*) give_up 'API has to begin with https://, as the token goes there' ;;
	esac
	case $FORGE in
	github)
		authorization="Authorization: Bearer $secret"
		comments=$API/repos/$REPOSITORY/issues/$CHANGE/comments
		one=$API/repos/$REPOSITORY/issues/comments
		edit=PATCH
		: "${BOT:=github-actions[bot]}"
		;;
	gitlab)
		authorization="PRIVATE-TOKEN: $secret"
		comments=$API/projects/$REPOSITORY/merge_requests/$CHANGE/notes
		one=$comments
		edit=PUT
		;;
	*) give_up 'FORGE has to be github, gitlab or none' ;;
	esac
}

# known says in the comment what git does not have. What was said before must not be
# left to stand for this.
known() {
	[ -n "$base" ] && [ -n "$head" ] && return
	complain "git does not know $BASE, or has no HEAD: is the clone a shallow one?"
	fail 2 'What this change does could not be worked out.'
}

require() { eval "[ -n \"\${$1-}\" ]" || give_up "$1 is not set"; }

# inventories puts what is known of the clusters into files that have their names, and
# sets clusters to how many there are.
inventories() {
	mkdir "$work/inventories" || return
	clusters=0
	set -f
	# shellcheck disable=SC2086 # several revisions have blanks between them
	set -- $INVENTORY_REV
	set +f
	several=$#
	for rev; do
		at=$(commit "$rev") || at=none # with nothing before the colon, git looks into its index
		case $(git cat-file -t "$at:$INVENTORY" 2>/dev/null) in
		blob) inventory "$at:$INVENTORY" "$(cluster_of "$rev")" || return ;;
		tree)
			before=$clusters
			git ls-tree -r -z --name-only "$at:$INVENTORY" | tr '\0\n' '\n?' >"$work/names" || return
			while IFS= read -r file; do
				case $file in
				*.json | *.yaml | *.yml) inventory "$at:$INVENTORY/$file" "$(printf '%s' "${file%.*}" | tr / -)" || return ;;
				esac
			done <"$work/names"
			[ "$clusters" -gt "$before" ] || {
				complain "there is no inventory in $INVENTORY of $rev: none of its files ends in .json, .yaml or .yml"
				return 2
			}
			;;
		*)
			complain "there is no $INVENTORY in $rev, so nothing is reported of nodes and pods"
			# Of several clusters, none is left out in silence.
			[ "$several" -eq 1 ] || return
			;;
		esac
	done
}

# cluster_of is the name of the cluster whose inventory a branch has.
cluster_of() {
	if [ "$several" -eq 1 ]; then
		echo inventory
		return
	fi
	name=${1##*/}
	echo "${name#inventory-}"
}

# inventory OBJECT NAME writes the file of a cluster.
inventory() {
	case $2 in
	'' | .* | *[!A-Za-z0-9._-]*)
		complain "$1 is not named after a cluster, by letters, digits, dots and dashes"
		return 2
		;;
	esac
	if [ -e "$work/inventories/$2.inventory" ]; then
		complain "there are two inventories of the cluster $2"
		return 2
	fi
	git cat-file blob "$1" >"$work/inventories/$2.inventory" || return
	clusters=$((clusters + 1))
}

validate() {
	set --
	for file in "$work"/inventories/*; do
		[ ! -e "$file" ] || set -- "$@" --inventory "$file"
	done
	if [ -n "$SOURCE" ] && [ "$clusters" -gt 0 ]; then
		set -- "$@" --source "$SOURCE"
	fi
	case $ANNOTATE in
	gitlab)
		true >"$CODE_QUALITY" || return 2
		limited nodepools validate "$POOLS" --revision "$reviewed" "$@" -o gitlab >"$CODE_QUALITY" 2>/dev/null ||
			limited nodepools validate "$POOLS" --revision "$reviewed" "$@" # for the log
		;;
	*) limited nodepools validate "$POOLS" --revision "$reviewed" "$@" -o "$ANNOTATE" ;;
	esac
}

# limited runs a program for as long as is left, where the system has the means to end it.
limited() {
	left=$((TIMEOUT - $(date +%s) + began))
	[ "$left" -gt 0 ] || left=1
	if command -v timeout >/dev/null; then
		timeout "$left" "$@"
	else
		"$@"
	fi
}

# diff leaves the comment in a file, and ends with the code of nodepools diff.
diff() {
	set -- --base "$BASE" --merge-base --head "$named" --path "$POOLS" -o markdown --marker "$MARKER"
	for file in "$work"/inventories/*; do
		[ ! -e "$file" ] || set -- "$@" --inventory "$file"
	done
	if [ -n "$SOURCE" ]; then
		set -- "$@" --source "$SOURCE"
	fi
	if [ -n "$FAIL_ON" ]; then
		set -- "$@" --fail-on "$FAIL_ON"
	fi
	limited nodepools diff "$@" >"$work/comment"
}

# fail says in the comment what went wrong, and ends.
fail() {
	{
		printf '%s\n**%s** ' "$marker" "$2"
		if [ -n "$LINK" ]; then
			printf '[The log](%s) says why.\n' "$LINK"
		else
			printf 'The log of the job says why.\n'
		fi
	} >"$work/failure"
	comment "$work/failure" || exit 2
	exit "$1"
}

# comment FILE writes our one comment anew. With unless-first it writes none where
# there is none yet.
comment() {
	if [ -n "$SUMMARY" ]; then
		cat "$1" >>"$SUMMARY" || return
	elif [ "$FORGE" = none ]; then
		cat "$1"
	fi
	[ "$FORGE" = none ] && return

	[ "$FORGE" = gitlab ] && [ -z "$BOT" ] && { bot || return; }
	ours || return
	{
		printf '{"body": '
		json_string <"$1"
		printf '}\n'
	} >"$work/body" || return
	case $id in
	none)
		[ "${2-}" = unless-first ] && return
		call POST "$comments"
		;;
	*) call "$edit" "$one/$id" ;;
	esac
}

# bot asks GitLab who we are.
bot() {
	call GET "$API/user" || return
	BOT=$(FIND=name awk "$read_json" "$work/answer") && [ -n "$BOT" ] && return
	complain 'GitLab does not say whose the token is: set BOT'
	return 2
}

# ours sets id to the number of our comment, or to none. It is the first that begins
# with the marker and is written by us: others may quote it.
ours() {
	page=1
	while [ "$page" -le 100 ]; do
		call GET "$comments?per_page=100&sort=asc&order_by=created_at&page=$page" || return
		id=$(FIND=comment MARKER=$marker BOT=$BOT awk "$read_json" "$work/answer") || return
		case $id in
		more) page=$((page + 1)) ;;
		none) return ;;
		'' | *[!0-9]*)
			complain "$FORGE answered with something else than comments"
			return 2
			;;
		*) return ;;
		esac
	done
	complain "$FORGE has no end of comments"
	return 2
}

# call METHOD URL asks the API, sends the body unless it is a GET, and leaves the
# answer in a file. The token goes to curl by standard input, as everybody on a
# machine can read command lines; and of an answer that is no success nothing is
# shown but the number, as nobody knows what is in it.
call() {
	what='retry = 3'
	[ "$1" = GET ] || what="data-binary = \"@$work/body\""
	status=$(
		curl --disable --silent --show-error --max-time 60 --config - <<-EOF
			url = "$2"
			request = "$1"
			header = "$authorization"
			header = "Content-Type: application/json"
			header = "Accept: application/json"
			$what
			output = "$work/answer"
			write-out = "%{http_code}"
		EOF
	) || {
		complain "$FORGE cannot be reached"
		return 2
	}
	case $status in
	2??) return 0 ;;
	401 | 403 | 404) complain "$FORGE answers $status to $1 ${2#"$API"}: is the token valid, and may it write comments?" ;;
	*) complain "$FORGE answers $status to $1 ${2#"$API"}" ;;
	esac
	return 2
}

# json_string makes a JSON string of a text. Control characters but tabs and ends
# of lines are left out.
json_string() {
	tab=$(printf '\t')
	tr -d '\000-\010\013-\037\177' |
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e "s/$tab/\\\\t/g" |
		awk 'BEGIN { printf "\"" } { printf "%s%s", sep, $0; sep = "\\n" } END { printf "\"" }'
}

# read_json reads an answer of GitHub or GitLab, one object or a list of them, from
# quotation mark to quotation mark: what stands between is text, or else JSON. With
# FIND=name it prints the name of a user; with FIND=comment the number of the first
# comment by BOT that begins with MARKER, "more" if there may be further pages, and
# "none".
# shellcheck disable=SC2016 # awk has its own $0
read_json='
BEGIN { RS = "\"" }
inside {
	if (length(text) < 4096) text = text $0
	escapes = match($0, /\\+$/) ? RLENGTH : 0
	if (escapes % 2) { text = text "\""; next }
	inside = 0
	string()
	next
}
{
	for (i = 1; i <= length($0); i++) mark(substr($0, i, 1))
	inside = 1
	text = ""
}
END {
	if (ENVIRON["FIND"] == "name") print name
	else if (first != "") print first
	else if (top == 2) print objects ? "more" : "none"
}
function mark(c) {
	if (c == "{" || c == "[") {
		key[++depth] = ""
		if (!top) top = c == "[" ? 2 : 1
		if (c == "{" && depth == top) { objects++; number = name = body = "" }
	} else if (c == "}" || c == "]") {
		if (c == "}" && depth == top && name == ENVIRON["BOT"] && begins() && first == "") first = number
		depth--
	} else if (c == ":") key[depth] = text
	else if (c == ",") key[depth] = ""
	else if (depth == top && key[depth] == "id" && c ~ /[0-9]/) number = number c
}
function string() {
	if (key[depth] == "") return
	if (depth == top && key[depth] == "body") body = text
	if (depth == top && key[depth] == "username") name = text
	if (depth == top + 1 && (key[top] == "user" || key[top] == "author") && (key[depth] == "login" || key[depth] == "username")) name = text
}
function begins(start) {
	start = substr(body, 1, 1024)
	gsub(/\\u003[cC]/, "<", start)
	gsub(/\\u003[eE]/, ">", start)
	if (index(start, ENVIRON["MARKER"]) != 1) return 0
	start = substr(start, length(ENVIRON["MARKER"]) + 1, 2)
	return start == "" || start == "\\n" || start == "\\r"
}'

complain() { printf 'review: %s\n' "$*" >&2; }

give_up() {
	complain "$*"
	exit 2
}

main "$@"
