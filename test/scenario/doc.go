// Package scenario holds the conversations that every model server of the tests plays as whole executions: a text, one
// tool, parallel tools, a tool's error, a rejected call, a call that a cancel left unanswered, and another turn behind each.
package scenario
