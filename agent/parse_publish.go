package agent

// Bounds of what is shown of an agent: a card is small.
const (
	maxPublishText = 2000
	maxSkills      = 50
	maxSkillTexts  = 20
)

// parsePublish reads how the agent is shown to others; nil when it is not.
func parsePublish(agent *object) *Publish {
	o := agent.child("publish")
	if o == nil {
		return nil
	}
	p := &Publish{Name: o.shown("name"), Description: o.shown("description")}
	seen := map[string]bool{}
	items := o.list("skills")
	if len(items) > maxSkills {
		o.bad("skills", "must be at most %d", maxSkills)
	}
	for i, item := range items {
		entry := objectAt(o.problems, item, o.item("skills", i))
		if entry == nil {
			continue
		}
		skill := parseSkill(entry)
		if skill.ID != "" && seen[skill.ID] {
			entry.bad("id", "%s is there twice", skill.ID)
		}
		seen[skill.ID] = true
		p.Skills = append(p.Skills, skill)
	}
	o.refuseUnknown()
	return p
}

func parseSkill(o *object) Skill {
	skill := Skill{Tags: o.texts("tags"), Examples: o.texts("examples")}
	if id, ok := o.required("id"); ok {
		if skill.ID = id; !validName.MatchString(id) {
			o.bad("id", "must have 1 to 64 characters of A-Z a-z 0-9 _ -")
		}
	}
	for key, into := range map[string]*string{"name": &skill.Name, "description": &skill.Description} {
		if _, ok := o.required(key); ok {
			*into = o.shown(key)
		}
	}
	o.refuseUnknown()
	return skill
}

// shown is text of a card; empty when it is not there.
func (o *object) shown(key string) string {
	value, _ := o.text(key)
	if len(value) > maxPublishText {
		o.bad(key, "must be at most %d bytes", maxPublishText)
		return ""
	}
	return value
}

// texts is a list of texts of a card.
func (o *object) texts(key string) []string {
	items := o.list(key)
	if len(items) > maxSkillTexts {
		o.bad(key, "must be at most %d", maxSkillTexts)
		return nil
	}
	var all []string
	for i, item := range items {
		if item.kind != stringNode || item.text == "" || len(item.text) > maxPublishText {
			o.add(item.line, o.item(key, i), "must be text of 1 to %d bytes", maxPublishText)
			continue
		}
		all = append(all, item.text)
	}
	return all
}
