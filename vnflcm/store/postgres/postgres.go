package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Options are settings of a Store. The zero value is ready for use.
type Options struct {
	// MaxConns is the greatest number of connections. The default is pool_max_conns of the DSN, or else 10. A fifth of them, at
	// least one, read lists for clients (store.Query.Background), and at least one does the rest. Watch uses one more connection.
	MaxConns int
	// ListenDSN is the address for Watch, which needs a separate session: behind pgbouncer in transaction mode set it
	// to the address of the server itself. The default is the DSN of the pool.
	ListenDSN string
}

const (
	defaultMaxConns = 10
	// connectTimeout and pingTimeout bound how long a call waits for a server that does not answer at all.
	connectTimeout = 5 * time.Second
	pingTimeout    = 5 * time.Second
	// A call whose context ends waits cancelDelay for the answer to what the server has already received. Then it asks the
	// server to cancel the statement, and closes the connection when no answer has come after answerGrace.
	cancelDelay = 100 * time.Millisecond
	answerGrace = time.Second
)

var errClosed = errors.New("postgres: the store is closed")

// Store is a store.Store and a store.Watcher in a PostgreSQL database. It is safe for concurrent use. While the
// database is away every call returns an error, and when the database is back calls work again.
type Store struct {
	pool    *pgxpool.Pool
	lists   *pgxpool.Pool     // reads lists for clients
	planned pgx.QueryExecMode // for statements that the server plans for their arguments each time
	listen  *pgx.ConnConfig
	notices chan struct{} // has a value while a notice waits to be sent
	open    context.Context
	close   context.CancelFunc // ends open
	ended   sync.WaitGroup     // of the goroutine that sends notices
}

// Open connects to the database that dsn names, as a URL or as keywords and values (see pgxpool.ParseConfig). It creates
// or updates the tables if they are not current; only then the role needs the right to create tables. Open returns an
// error if a newer version of vnfkit has updated the tables. Close the store when the Manager has been closed.
func Open(ctx context.Context, dsn string, options Options) (*Store, error) {
	config, err := poolConfig(dsn, options)
	if err != nil {
		return nil, err
	}
	listen, err := pgxpool.ParseConfig(cmp.Or(options.ListenDSN, dsn)) // unlike pgx.ParseConfig it accepts the settings of a pool
	if err != nil {
		return nil, fmt.Errorf("postgres: ListenDSN: %w", err)
	}
	setConnectTimeout(listen.ConnConfig)
	s := &Store{planned: config.ConnConfig.DefaultQueryExecMode, listen: listen.ConnConfig, notices: make(chan struct{}, 1)}
	if s.planned == pgx.QueryExecModeCacheStatement {
		s.planned = pgx.QueryExecModeCacheDescribe
	}
	if err := prepare(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	lists := listConfig(config)
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, wrap(ctx, "open", err)
	}
	if s.lists, err = pgxpool.NewWithConfig(ctx, lists); err != nil {
		s.pool.Close()
		return nil, wrap(ctx, "open", err)
	}
	s.open, s.close = context.WithCancel(context.WithoutCancel(ctx))
	s.ended.Go(s.sendNotices)
	return s, nil
}

// Close waits for the calls that have begun, closes the connections and ends Watch. It always returns nil.
func (s *Store) Close() error {
	s.close()
	s.ended.Wait()
	s.pool.Close()
	s.lists.Close()
	return nil
}

// listConfig takes connections for lists from a configuration.
func listConfig(config *pgxpool.Config) *pgxpool.Config {
	lists := config.Copy()
	lists.MaxConns, lists.MinConns, lists.MinIdleConns = max(1, config.MaxConns/5), 0, 0
	config.MaxConns = max(1, config.MaxConns-lists.MaxConns)
	config.MinConns, config.MinIdleConns = min(config.MinConns, config.MaxConns), min(config.MinIdleConns, config.MaxConns)
	return lists
}

func poolConfig(dsn string, options Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	plain, err := pgx.ParseConfig(dsn) // unlike pgxpool, it keeps the settings of the pool in RuntimeParams
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	switch _, named := plain.RuntimeParams["pool_max_conns"]; {
	case options.MaxConns < 0 || options.MaxConns > 1<<16:
		return nil, fmt.Errorf("postgres: MaxConns is %d", options.MaxConns)
	case options.MaxConns > 0:
		config.MaxConns = int32(options.MaxConns)
	case !named:
		config.MaxConns = defaultMaxConns
	}
	setConnectTimeout(config.ConnConfig)
	// Closing the connection alone, which is pgx's default, would leave a statement waiting for a lock at the server, and a
	// batch could be written long after Apply has returned an error.
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, CancelRequestDelay: cancelDelay, DeadlineDelay: answerGrace}
	}
	if config.PingTimeout == 0 {
		config.PingTimeout = pingTimeout
	}
	// The server may have been replaced by a copy of it since the last connection.
	config.AfterConnect = checkEra
	return config, nil
}

func setConnectTimeout(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > time.Minute {
		config.ConnectTimeout = connectTimeout
	}
}

// prepare makes the tables current.
func prepare(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return wrap(ctx, "connect", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := migrate(ctx, conn); err != nil {
		return wrap(ctx, "prepare the tables", err)
	}
	return checkEra(ctx, conn)
}

// wrap adds the name of the store and the action. If the context has ended, the error has its cause. An error of what the server
// was given, such as text with a NUL or too long an entry of an index, is store.ErrInvalid, since trying again is useless.
func wrap(ctx context.Context, verb string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("postgres: %s: %w: %w", verb, cause, err)
	}
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok && (strings.HasPrefix(failure.Code, "22") || strings.HasPrefix(failure.Code, "54")) {
		return fmt.Errorf("%w: postgres: %s: %w", store.ErrInvalid, verb, err)
	}
	return fmt.Errorf("postgres: %s: %w", verb, err)
}

// hasCode reports whether the server refused a statement with one of these SQLSTATE codes.
func hasCode(err error, codes ...string) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	for _, code := range codes {
		if ok && failure.Code == code {
			return true
		}
	}
	return false
}
