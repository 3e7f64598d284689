package local

import "github.com/pawl-run/pawl/execution"

// bytesPerToken is what texts have on average.
const bytesPerToken = 4

// imageTokens is about what an image costs.
const imageTokens = 1000

// EstimatedInput is about how many input tokens the request costs, for usage that nobody reported. It is no bound.
func (r *ModelRequest) EstimatedInput() int64 {
	bytes, images := len(r.Instructions)+len(r.OutputSchema), 0
	for i := range r.Messages {
		message := &r.Messages[i]
		bytes += len(message.Text)
		for _, part := range message.Parts {
			bytes += len(part.Text)
			if part.Type != execution.PartText {
				images++
			}
		}
		for _, call := range message.ToolCalls {
			bytes += len(call.Name) + len(call.Arguments)
		}
		if message.ToolResult != nil {
			bytes += len(message.ToolResult.Content)
		}
	}
	for _, tool := range r.Tools {
		bytes += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return EstimatedTokens(bytes) + int64(images)*imageTokens
}

// EstimatedTokens is about how many tokens a text of so many bytes has.
func EstimatedTokens(bytes int) int64 {
	return (int64(bytes) + bytesPerToken - 1) / bytesPerToken
}

// UsageSoFar is the usage of a request that was sent: what the provider reported, and estimates for what it did not. Whole
// says that nothing of the answer is missing, said is how many bytes of it arrived.
func (r *ModelRequest) UsageSoFar(reported *execution.Usage, said int, whole bool) *execution.Usage {
	if reported != nil && whole {
		return reported
	}
	usage := execution.Usage{Partial: true}
	if reported != nil {
		usage = *reported
		usage.Partial = true
	} else {
		usage.InputTokens = r.EstimatedInput()
	}
	usage.OutputTokens = max(usage.OutputTokens, EstimatedTokens(said))
	usage.TotalTokens = max(usage.TotalTokens, usage.InputTokens+usage.OutputTokens)
	return &usage
}
