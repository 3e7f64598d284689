package dashboard

import "slices"

// queueRow is a queue with how many live workers take tasks from it.
type queueRow struct {
	Queue
	Workers int
}

// Stuck reports whether tasks wait there that nobody will take.
func (q *queueRow) Stuck() bool { return q.Workers == 0 && q.Pending > 0 }

// served are the queues with their workers.
func served(queues []Queue, workers []Worker) []queueRow {
	rows := make([]queueRow, len(queues))
	for i, queue := range queues {
		rows[i].Queue = queue
		for _, worker := range workers {
			if !worker.Draining && slices.Contains(worker.Queues, queue.Name) {
				rows[i].Workers++
			}
		}
	}
	return rows
}

// stuck are the queues in which tasks wait that nobody will take.
func stuck(rows []queueRow) []queueRow {
	var found []queueRow
	for _, row := range rows {
		if row.Stuck() {
			found = append(found, row)
		}
	}
	return found
}
