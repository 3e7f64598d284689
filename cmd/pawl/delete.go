package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// deleted is what `pawl delete --json` prints.
type deleted struct {
	Deleted []execution.ID          `json:"deleted"`
	Failed  []execution.BulkFailure `json:"failed,omitempty"`
}

func newDelete(s streams, dial dialer) *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use: "delete ID…", Short: "Delete executions that have ended, with their history", Args: cobra.MinimumNArgs(1),
		Long: "Delete executions that have ended, with their events, checkpoints and results, for good; their messages go with\n" +
			"the last execution of their conversation. One that has not ended is refused: cancel it first. At a terminal it\n" +
			"asks; elsewhere it needs --yes. What is refused does not stop it; the exit code is 5 then.\n\n" +
			"With --json one value: {deleted: [ID…], failed?: [{id, code, detail}…]}.",
		Example: asTyped(self(), "  pawl delete exec_07…\n  pawl list --state failed --json --all | jq -r .id | xargs pawl delete --yes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids := make([]execution.ID, len(args))
			for i, text := range args {
				var err error
				if ids[i], err = parseID(text); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			what := counted(len(ids), "execution")
			if len(ids) == 1 {
				what = string(ids[0])
			}
			if err := confirm(ctx, s, yes, fmt.Sprintf("Delete %s for good?", what)); err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return deleteAll(ctx, s, api, url, ids, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// deleteAll deletes one after the other and goes on past those that are refused; not when the API has gone.
func deleteAll(ctx context.Context, s streams, api remote, url string, ids []execution.ID, asJSON bool) error {
	done := deleted{Deleted: []execution.ID{}}
	var stopped error
	for _, id := range ids {
		err := api.Delete(ctx, id)
		var problem *execution.APIError
		switch {
		case err == nil:
			done.Deleted = append(done.Deleted, id)
			if !asJSON {
				err = say(s.out, string(id)+" is deleted")
			}
		case ctx.Err() == nil && errors.As(err, &problem) && (errors.Is(err, execution.ErrNotFound) || errors.Is(err, execution.ErrConflict)):
			done.Failed = append(done.Failed, execution.BulkFailure{ID: id, Code: problem.Code, Detail: problem.Detail})
			err = say(s.err, fmt.Sprintf("pawl: %s: %s%s", id, told(problem), deleteHint(id, problem)))
		default:
			err = explain(ctx, url, err)
		}
		if err != nil {
			stopped = err
			break
		}
	}
	if asJSON {
		if err := sayJSON(s.out, done); err != nil {
			return err
		}
	}
	if stopped == nil && len(done.Failed) > 0 {
		stopped = &exit{code: exitNoAnswer}
	}
	return stopped
}

func deleteHint(id execution.ID, problem *execution.APIError) string {
	if problem.Code == execution.Conflict {
		return fmt.Sprintf(". End it first: %s cancel %s", self(), id)
	}
	return ""
}
