// Package markdown writes a review as the comment on a pull request, for GitHub and
// for GitLab. Start with [Write].
//
// The most important parts come first, and are cut last: the summary, what the
// guards do, what happens to pods, then the pools, each with its details
// folded. It can be read without rendering, too: a mail about the comment has
// its source.
//
// # How names and values are sanitized
//
// Whoever may name a node, a pod or a key writes into the comment. These rules
// prevent anything beyond that:
//
//   - Nothing foreign is outside of code: a name is a code span, a line of a diff
//     is in a fence, and of a sentence each word that is not made of plain letters or
//     is no plain number is a code span of its own. That holds more than escaping
//     does: GitHub and GitLab look for mentions (@user), references (#1, !1, GH-1,
//     TICKET-1), commits and :emoji: in rendered text, where neither a backslash
//     nor an HTML entity is seen any more, but leave code alone.
//   - A code span and a fence are longer than any run of backticks within.
//   - Nothing foreign begins a line: neither a block of Markdown, nor a quick action
//     of GitLab (/close), nor a command for a bot. A line of a diff has its sign.
//   - An unprintable or invisible character is written as Go writes it:
//     \x1b, \u202e, \n. So no name has two lines. A | in a table is written \x7c,
//     since what escapes it differs between readers of tables.
//   - Each text has a limit, and says how much more there is.
package markdown
