package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Messages implements RuntimeLink.
func (l *session) Messages(ctx context.Context, id execution.ID, from, limit int) (execution.MessagePage, error) {
	page := execution.MessagePage{Messages: []execution.HistoryMessage{}, NextFrom: from}
	if err := checkPage(from < 0, limit); err != nil {
		return page, err
	}
	row, err := l.see(ctx, "messages", id)
	if err != nil {
		return page, err
	}
	// The conversation goes on behind the execution's own end; that is no part of what its model saw.
	stored, err := gatherPage(min(limit, MaxLimit, row.HistoryEnd-from), func(read, limit int) ([][]byte, error) {
		return l.service.cfg.Journal.Messages(ctx, id, from+read, limit)
	})
	if err != nil {
		return page, l.service.problem(ctx, "messages "+string(id), err)
	}
	for _, data := range stored {
		message, err := l.service.cfg.Message(data)
		if err != nil {
			return page, l.service.problem(ctx, "messages "+string(id), err)
		}
		conceal(&message)
		page.Messages = append(page.Messages, execution.HistoryMessage{Index: page.NextFrom, Message: message})
		page.NextFrom++
	}
	page.HasMore = page.NextFrom < row.HistoryEnd && len(page.Messages) > 0
	return page, nil
}

// conceal takes out what is between the adapter and its provider.
func conceal(message *execution.Message) {
	message.Provider = nil
	for i := range message.ToolCalls {
		message.ToolCalls[i].ProviderID = ""
	}
}

// The first read of a page brings so many entries, and what is read at once grows while it is small: an entry may be a few
// bytes or a megabyte, and no reply should be much larger than a page.
const (
	firstRead = 16
	smallRead = 256 << 10
)

// gatherPage is gatherSized of entries that are bytes.
func gatherPage(limit int, read func(read, limit int) ([][]byte, error)) ([][]byte, error) {
	return gatherSized(limit, func(entry []byte) int { return len(entry) }, read)
}

// gatherSized reads on until it has limit entries or maxPageBytes, or read brings fewer than it was asked for. One entry
// always comes, however large it is. read is told how many entries it has brought already.
func gatherSized[T any](limit int, sizeOf func(T) int, read func(read, limit int) ([]T, error)) ([]T, error) {
	var page []T
	for bytes, size := 0, firstRead; len(page) < limit && bytes < maxPageBytes; {
		wanted := min(limit-len(page), size)
		some, err := read(len(page), wanted)
		if err != nil {
			return nil, err
		}
		before := bytes
		for _, entry := range some {
			if bytes += sizeOf(entry); bytes > maxPageBytes && len(page) > 0 {
				return page, nil
			}
			page = append(page, entry)
		}
		if len(some) < wanted {
			return page, nil
		}
		if bytes-before < smallRead {
			size = min(2*size, readPage)
		}
	}
	return page, nil
}

func checkPage(negative bool, limit int) error {
	switch {
	case negative:
		return invalid("from", "must be 0 or above")
	case limit < 1:
		return invalid("limit", "must be at least 1")
	default:
		return nil
	}
}
