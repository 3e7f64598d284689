package config

import "time"

// API configures cmd/api.
type API struct {
	Store
	Log
	Journal
	HTTP
	Auth
	Delegation
	Face
	Admin
	Agents
}

// Worker configures cmd/worker.
type Worker struct {
	Store
	Log
	Journal
	Admin
	Delegation
	Work
}

// Reaper configures cmd/reaper.
type Reaper struct {
	Store
	Log
	Journal
	Admin
	Delegation
	Reap
}

// Dev configures `pawl dev`, which runs the three programs in one process.
type Dev struct {
	DevStore
	Log
	Journal
	HTTP
	Auth
	Delegation
	Face
	DevAgents
	Work
	Reap
}

// Client configures the commands of `pawl` that talk to an API.
type Client struct {
	URL    string `envconfig:"PAWL_URL" default:"http://127.0.0.1:8080" desc:"the API to talk to"`
	APIKey Secret `envconfig:"PAWL_API_KEY" desc:"the key to show to the API; none when empty"`
}

// Doctor configures `pawl doctor`, which looks through what is stored.
type Doctor struct {
	Keys
	Journal
}

// Store says which Redis holds everything.
type Store struct {
	RedisURL Secret `envconfig:"PAWL_REDIS_URL" required:"true" desc:"redis://, rediss://, redis+sentinel://h1:p,h2:p/master or redis+cluster://h1:p,h2:p"`
	Strict   bool   `envconfig:"PAWL_STRICT" default:"false" desc:"refuse to start on a Redis older than 7, without noeviction or without an append-only file that is synced"`
}

// DevStore says which Redis `pawl dev` uses.
type DevStore struct {
	RedisURL Secret `envconfig:"PAWL_REDIS_URL" desc:"the Redis to use; when empty a redis-server of its own, else an embedded one in memory"`
	Strict   bool   `envconfig:"PAWL_STRICT" default:"false" desc:"refuse to start on a Redis older than 7, without noeviction or without an append-only file that is synced"`
	DataDir  string `envconfig:"PAWL_DATA_DIR" default:".pawl" desc:"where a redis-server of dev's own keeps its data"`
}

// Log says how to log.
type Log struct {
	Level  LogLevel  `envconfig:"PAWL_LOG_LEVEL" default:"info" desc:"debug, info, warn or error"`
	Format LogFormat `envconfig:"PAWL_LOG_FORMAT" desc:"text or json; when empty text on a terminal, else json"`
}

// Journal holds the rules of the store. All programs of an installation should agree on them.
type Journal struct {
	HandoffGrace   time.Duration `envconfig:"PAWL_HANDOFF_GRACE" default:"5s" desc:"how long after a step became runnable its task must be standing"`
	Retention      time.Duration `envconfig:"PAWL_RETENTION" default:"168h" desc:"how long an ended execution is kept, unless it or its agent says otherwise"`
	CleanupTimeout time.Duration `envconfig:"PAWL_CLEANUP_TIMEOUT" default:"30s" desc:"how long an execution may stay finalizing"`
	MaxEvents      int           `envconfig:"PAWL_MAX_EVENTS" default:"100000" desc:"events of one execution; room for the terminal one is kept"`
}

// HTTP configures the API's server.
type HTTP struct {
	Addr    string `envconfig:"PAWL_HTTP_ADDR" default:"127.0.0.1:8080" desc:"where the API listens; any but a loopback address needs PAWL_AUTH=keys"`
	MaxBody Size   `envconfig:"PAWL_MAX_BODY" default:"1MiB" desc:"the largest request body"`
	MaxOpen int64  `envconfig:"PAWL_MAX_OPEN" default:"0" desc:"open executions above which a submission answers 429; 0: no limit"`
	// MaxStreams is for a backend that passes streams on to its own users under one key, and far below what a process can hold.
	MaxStreams int `envconfig:"PAWL_MAX_STREAMS" default:"5000" desc:"streams and waits that one caller may hold open at one process, above which it gets 429; 0: no limit"`
}

// Agents says which agents there are.
type Agents struct {
	AgentsFile string `envconfig:"PAWL_AGENTS" required:"true" desc:"the file that declares the agents (agents.yaml); read again on SIGHUP"`
}

// DevAgents says which agents `pawl dev` has.
type DevAgents struct {
	AgentsFile string `envconfig:"PAWL_AGENTS" desc:"the file that declares the agents, read again on SIGHUP; a built-in demo agent when empty"`
}

// Admin is a program's own small server.
type Admin struct {
	AdminAddr string `envconfig:"PAWL_ADMIN_ADDR" desc:"where /livez, /readyz and /metrics are served, to whoever can reach it; off when empty"`
}

// Work configures a worker.
type Work struct {
	Concurrency  int           `envconfig:"PAWL_CONCURRENCY" default:"50" desc:"steps that one worker runs at the same time"`
	ClaimTTL     time.Duration `envconfig:"PAWL_CLAIM_TTL" default:"15s" desc:"how long a claim lasts without being renewed; at least 1s"`
	DrainTimeout time.Duration `envconfig:"PAWL_DRAIN_TIMEOUT" default:"30s" desc:"how long a stopping worker waits for the steps it runs"`
	MaxReclaims  int           `envconfig:"PAWL_MAX_RECLAIMS" default:"5" desc:"reclaims of one step before its execution is suspended, quarantined"`
	NodesPerTask int           `envconfig:"PAWL_NODES_PER_TASK" default:"1" desc:"the most nodes that one task runs, 1 to 64; each has its checkpoint"`
	MaxDepth     int           `envconfig:"PAWL_MAX_DEPTH" default:"5" desc:"how deep agents may call each other, at most 64; 0: none may call another"`
	Queues       []string      `envconfig:"PAWL_WORKER_QUEUES" desc:"the queues to serve, by comma, such as high,default,suspect (each with its -new queue); all when empty"`
}

// Reap configures the reaper.
type Reap struct {
	ReapInterval time.Duration `envconfig:"PAWL_REAP_INTERVAL" default:"1s" desc:"the time between two passes over what is due"`
}
