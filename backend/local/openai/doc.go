// Package openai is the model behind an API of OpenAI's chat completions: OpenAI's own, Azure's v1 API, and servers that
// speak the same, such as vLLM, Ollama, LM Studio, OpenRouter and DeepSeek.
//
// Every request is streamed. Requests are never sent again here: what may be tried again is an error that says so. The key
// comes from the definition's reference alone, never from a variable that the SDK knows. It must not know the loop.
package openai
