package memjournal

// erase deletes a row that has ended with all that only it needs; the conversation goes with its last execution. What becomes
// of an idempotency key is the caller's.
func (s *Store) erase(r *row) {
	delete(s.rows, r.ID)
	if c := s.conversations[r.ConversationID]; c.rows > 1 {
		c.rows--
	} else {
		delete(s.conversations, r.ConversationID)
	}
}
