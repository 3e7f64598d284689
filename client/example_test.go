package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func dial() *client.Client {
	api, err := client.New("http://127.0.0.1:8080", client.Config{APIKey: os.Getenv("PAWL_API_KEY")})
	if err != nil {
		panic(err)
	}
	return api
}

func ExampleClient_Create() {
	ctx, api := context.Background(), dial()
	created, err := api.Create(ctx, "order-7", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"},
		ConversationID: "ticket-42", OnBusy: execution.BusyInterrupt,
	})
	var refused *execution.APIError
	switch {
	case errors.Is(err, execution.ErrOverloaded) && errors.As(err, &refused):
		fmt.Println("come back in", refused.RetryAfter)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(created.View.ID, created.Replayed)
	}
}

func ExampleClient_Stream() {
	ctx, api := context.Background(), dial()
	for event, err := range api.Stream(ctx, "exec_07…") {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch payload := event.Payload.(type) {
		case *execution.ToolStarted:
			fmt.Println("calls", payload.Name)
		case *execution.ExecutionCompleted:
			fmt.Println(payload.Answer)
		}
	}
}

func ExampleClient_Watch() {
	ctx, api := context.Background(), dial()
	var answer client.Text
	for item, err := range api.Watch(ctx, "exec_07…", 0, "text_delta") { // and the terminal event
		if err == nil && item.Frame != nil {
			piece, _ := answer.Add(*item.Frame)
			fmt.Print(piece)
		}
	}
}

func ExampleClient_WatchAll() {
	ctx, api := context.Background(), dial()
	yesterday := time.Now().Add(-24 * time.Hour)
	for item, err := range api.WatchAll(ctx, yesterday, "execution_failed", "execution_suspended") {
		if err != nil {
			fmt.Println(err)
			return
		}
		why, err := api.Why(ctx, item.Execution)
		fmt.Println(item.Execution, why.Detail, err)
	}
}

func ExampleClient_AllBulk() {
	ctx, api := context.Background(), dial()
	request := execution.BulkRequest{
		Action: execution.BulkResume, Filter: execution.BulkFilter{State: execution.Suspended, Agent: "demo"},
	}
	for result, err := range api.AllBulk(ctx, request) {
		fmt.Println(result.Changed, result.Failed, err)
	}
}
