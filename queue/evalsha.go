package queue

// evalShaArgs are the words of an EVALSHA.
func evalShaArgs(sha string, keys []string, args []any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", sha, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}
