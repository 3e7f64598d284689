package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestParsePublish(t *testing.T) {
	t.Parallel()
	skill := agent.Skill{ID: "book", Name: "Book", Description: "Books a trip.", Tags: []string{"travel"}, Examples: []string{"Oslo, please"}}
	for text, want := range map[string]*agent.Publish{
		"":                  nil,
		"    publish: {}\n": {},
		"    publish: {name: Booker, description: Books.}\n": {Name: "Booker", Description: "Books."},
		"    publish: {skills: [{id: book, name: Book, description: Books a trip., tags: [travel], examples: ['Oslo, please']}]}\n": {
			Skills: []agent.Skill{skill},
		},
	} {
		catalog, err := agent.Parse("f.yaml", []byte(modelLines+text))
		require.NoError(t, err, text)
		definition, _ := catalog.Agent("demo")
		require.Equal(t, want, definition.Publish, text)
		plain, err := agent.Parse("f.yaml", []byte(modelLines))
		require.NoError(t, err)
		other, _ := plain.Agent("demo")
		require.Equal(t, other.Hash(), definition.Hash(), "how an agent is shown is part of no stored definition")
	}
}

func TestParseRefusesPublish(t *testing.T) {
	t.Parallel()
	const skills = "f.yaml:4: agents.demo.publish.skills"
	for text, want := range map[string]string{
		"true":                      "f.yaml:4: agents.demo.publish: must be a mapping, not true or false",
		"{title: a}":                "f.yaml:4: agents.demo.publish.title: unknown key; known are description, name, skills",
		"{name: 5}":                 "f.yaml:4: agents.demo.publish.name: must be text, not a number; put it in quotes",
		"{skills: book}":            skills + ": must be a list, not text",
		"{skills: [book]}":          skills + "[0]: must be a mapping, not text",
		"{skills: [{id: a}]}":       skills + "[0].name: is required",
		"{skills: [{id: a b}]}":     skills + "[0].id: must have 1 to 64 characters",
		"{skills: [{id: a, x: y}]}": skills + "[0].x: unknown key; known are description, examples, id, name, tags",
		"{skills: [{id: a, name: b, description: c}, {id: a, name: b, description: c}]}": skills + "[1].id: a is there twice",
		"{skills: [{id: a, name: b, description: c, tags: [1]}]}":                        skills + "[0].tags[0]: must be text of 1 to 2000 bytes",
		"{description: " + strings.Repeat("x", 2001) + "}":                               "publish.description: must be at most 2000 bytes",
	} {
		_, err := agent.Parse("f.yaml", []byte(modelLines+"    publish: "+text+"\n"))
		require.ErrorContains(t, err, want, text)
	}
}
