package memjournal

// erase deletes a row that has ended with all that only it needs; the conversation goes with its last execution,
// unless others are based on it: then its history is theirs alone. What becomes of an idempotency key is the caller's.
func (s *Store) erase(r *row) {
	delete(s.rows, r.ID)
	c := s.conversations[r.talk()]
	c.rows--
	switch {
	case c.rows > 0:
	case c.based > 0:
		s.close(c)
	default:
		s.drop(c)
	}
}
