package execution

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Partitions is the number of partitions of a journal. Everything that must change together lives in one of them. The
// number is part of every minted id and of every key, so it never changes.
const Partitions = 64

// Partition is the number of a partition, 0 to Partitions-1.
type Partition int

// Tag is the Redis Cluster hash tag of the partition without its braces, p00 to p63.
func (p Partition) Tag() string {
	if p < 0 || p >= Partitions {
		return fmt.Sprintf("p%02d", int(p))
	}
	return tags[3*p : 3*p+3]
}

// tags are those of all partitions, one behind the other: keys are built from them at every call of a journal.
const tags = "p00p01p02p03p04p05p06p07p08p09p10p11p12p13p14p15p16p17p18p19p20p21p22p23p24p25p26p27p28p29p30p31" +
	"p32p33p34p35p36p37p38p39p40p41p42p43p44p45p46p47p48p49p50p51p52p53p54p55p56p57p58p59p60p61p62p63"

type (
	// ID names an execution: "exec_", the two digits of its partition and 26 characters of Crockford base 32.
	ID string
	// ConversationID names a conversation of a tenant. Pawl mints "conv_" ids that carry their partition; a client may
	// choose any other id of 1 to 128 characters of [A-Za-z0-9._:-]. What two tenants choose alike are two conversations:
	// tenant and id together are hashed to a partition.
	ConversationID string
	// OperationID is the client's name for one input, 1 to 128 characters of [A-Za-z0-9._:-].
	OperationID string
	// CallID names a tool call inside one execution: call_<turn>_<index>.
	CallID string
	// RequestID names an interaction inside one execution.
	RequestID string
	// Step numbers the checkpoints of an execution, gapless from 0.
	Step uint64
	// Sequence numbers the events of an execution, gapless from 1.
	Sequence uint64
	// Wake counts how often the row of an execution was made runnable; it is part of the task id.
	Wake uint64
)

// ErrMalformedID reports an id that Pawl could not have minted or that a client may not choose.
var ErrMalformedID = errors.New("malformed id")

const (
	executionPrefix    = "exec_"
	conversationPrefix = "conv_"
)

// NewID mints an execution id in partition p.
func NewID(p Partition) ID { return ID(executionPrefix + mintTail(p)) }

// NewConversationID mints a conversation id in partition p.
func NewConversationID(p Partition) ConversationID {
	return ConversationID(conversationPrefix + mintTail(p))
}

func mintTail(p Partition) string {
	return fmt.Sprintf("%02d%s", int(p), ulid.MustNew(ulid.Timestamp(time.Now()), rand.Reader))
}

// DerivedID is the execution id of an idempotency key: the same scope and key give the same id in partition p, however
// often and in whatever order a submission is repeated.
func DerivedID(p Partition, scope CallerScope, key string) ID {
	return ID(executionPrefix + derivedTail(p, "execution", scope, key))
}

// DerivedConversationID is the conversation minted for a submission that carries an idempotency key and names none.
func DerivedConversationID(p Partition, scope CallerScope, key string) ConversationID {
	return ConversationID(conversationPrefix + derivedTail(p, "conversation", scope, key))
}

func derivedTail(p Partition, kind string, scope CallerScope, key string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + scope.String() + "\x00" + key))
	var id ulid.ULID
	copy(id[:], sum[:16])
	id[0] &= 0x7f // a ULID's first character is at most 7
	return fmt.Sprintf("%02d%s", int(p), id)
}

// ParseID checks that s is a minted execution id. It returns ErrMalformedID otherwise.
func ParseID(s string) (ID, error) {
	if tail, ok := strings.CutPrefix(s, executionPrefix); ok && validTail(tail) {
		return ID(s), nil
	}
	return "", fmt.Errorf("%w: not an execution id", ErrMalformedID)
}

// ParseConversationID checks that s may name a conversation. An id that begins with "conv_" must be a minted one.
func ParseConversationID(s string) (ConversationID, error) {
	if tail, ok := strings.CutPrefix(s, conversationPrefix); ok {
		if !validTail(tail) {
			return "", fmt.Errorf("%w: ids that begin with %s are minted by Pawl", ErrMalformedID, conversationPrefix)
		}
		return ConversationID(s), nil
	}
	if !chosen(s) {
		return "", fmt.Errorf("%w: want 1 to 128 characters of A-Z a-z 0-9 . _ : -", ErrMalformedID)
	}
	return ConversationID(s), nil
}

// ParseOperationID checks that s may name an input.
func ParseOperationID(s string) (OperationID, error) {
	if !chosen(s) {
		return "", fmt.Errorf("%w: want 1 to 128 characters of A-Z a-z 0-9 . _ : -", ErrMalformedID)
	}
	return OperationID(s), nil
}

// chosen reports whether s is an id that a client may choose. Ids are checked with every task and every call of the
// journal, hence by hand.
func chosen(s string) bool {
	if len(s) < 1 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// validTail reports whether the tail is two digits of a partition and 26 characters of Crockford base 32.
func validTail(tail string) bool {
	if len(tail) != 28 || !digit(tail[0]) || !digit(tail[1]) || partitionOf(tail) >= Partitions {
		return false
	}
	for i := 2; i < len(tail); i++ {
		switch c := tail[i]; {
		case digit(c), 'A' <= c && c <= 'Z' && c != 'I' && c != 'L' && c != 'O' && c != 'U':
		default:
			return false
		}
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func partitionOf(tail string) Partition {
	return Partition(int(tail[0]-'0')*10 + int(tail[1]-'0'))
}

// Partition is the partition the id carries. The id must have come from NewID, DerivedID or ParseID.
func (id ID) Partition() Partition { return partitionOf(string(id[len(executionPrefix):])) }

// Minted reports whether Pawl made the id, and no client.
func (id ConversationID) Minted() bool {
	tail, ok := strings.CutPrefix(string(id), conversationPrefix)
	return ok && validTail(tail)
}

// Partition is the partition the id carries if it was minted, else the one that the tenant's conversation of this id is
// hashed to: what all tenants call alike is not in one place.
func (id ConversationID) Partition(tenant string) Partition {
	if id.Minted() {
		return partitionOf(string(id[len(conversationPrefix):]))
	}
	return HashPartition(string(id) + "/" + tenant)
}

// HashPartition maps any text to a partition, the same in every release.
func HashPartition(s string) Partition {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash never fails to write
	return Partition(h.Sum64() % Partitions)
}

// KeyPartition is the partition of an idempotency key's entry. A submission that carries a key and names no conversation
// takes it for its ids too, so that key and execution change in one write.
func KeyPartition(scope CallerScope, key string) Partition {
	return HashPartition(scope.String() + "\x00" + key)
}

// RandomPartition picks a partition for a conversation that nothing ties to one.
func RandomPartition() Partition {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never returns an error
	return Partition(binary.BigEndian.Uint64(b[:]) % Partitions)
}

// NewCallID names call number index of the batch that model turn number turn asked for.
func NewCallID(turn, index int) CallID { return CallID(fmt.Sprintf("call_%d_%d", turn, index)) }

// EffectID is the name under which a tool sees a call: the same however often the call is sent.
func EffectID(id ID, call CallID) string { return string(id) + ":" + string(call) }
