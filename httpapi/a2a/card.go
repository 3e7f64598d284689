package a2a

import (
	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/agent"
)

// ProtocolVersion is the version of the A2A protocol that is spoken.
const ProtocolVersion = "0.3.0"

// The media types of what goes in and comes out.
const (
	typeText = "text/plain"
	typeJSON = "application/json"
)

// scheme is the name of the one way to come in.
const scheme = "bearer"

// card is what others are told of an agent.
func (f *Face) card(definition *agent.Definition) *sdk.AgentCard {
	shown, address := definition.Publish, f.cfg.URL+PathRoot+"/"+definition.Name
	card := &sdk.AgentCard{
		Name: orElse(shown.Name, definition.Name), Description: orElse(shown.Description, definition.Name),
		URL: address, Version: f.cfg.Version, ProtocolVersion: ProtocolVersion,
		PreferredTransport:   sdk.TransportProtocolJSONRPC,
		AdditionalInterfaces: []sdk.AgentInterface{{Transport: sdk.TransportProtocolJSONRPC, URL: address}},
		Capabilities:         sdk.AgentCapabilities{Streaming: true, PushNotifications: f.pusher != nil},
		DefaultInputModes:    inputModes(definition),
		DefaultOutputModes:   []string{typeText},
	}
	if len(definition.OutputSchema) > 0 {
		card.DefaultOutputModes = append(card.DefaultOutputModes, typeJSON)
	}
	for _, skill := range shown.Skills {
		card.Skills = append(card.Skills, sdk.AgentSkill{
			ID: skill.ID, Name: skill.Name, Description: skill.Description, Examples: skill.Examples,
			Tags: append([]string{}, skill.Tags...),
		})
	}
	if len(card.Skills) == 0 { // the protocol wants one
		card.Skills = []sdk.AgentSkill{{ID: definition.Name, Name: card.Name, Description: card.Description, Tags: []string{}}}
	}
	if f.cfg.Secured {
		card.SecuritySchemes = sdk.NamedSecuritySchemes{
			scheme: sdk.HTTPAuthSecurityScheme{Scheme: scheme, Description: "an API key of this installation, or a token of its issuer"},
		}
		card.Security = []sdk.SecurityRequirements{{scheme: sdk.SecuritySchemeScopes{}}}
	}
	return card
}

func inputModes(definition *agent.Definition) []string {
	modes := []string{typeText, typeJSON}
	if definition.Endpoint == nil && !definition.Model.NoImages {
		modes = append(modes, imageTypes()...)
	}
	return modes
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
