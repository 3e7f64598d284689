package memjournal

// erase deletes a row that has ended with all that only it needs; the conversation goes with its last execution,
// unless others are based on it. What becomes
// of an idempotency key is the caller's.
func (s *Store) erase(r *row) {
	delete(s.rows, r.ID)
	c := s.conversations[r.ConversationID]
	if c.rows--; c.rows == 0 {
		s.drop(c)
	}
}
