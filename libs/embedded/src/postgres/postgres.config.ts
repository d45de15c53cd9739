export interface PostgresConfig {
  readonly port: number;
  /** False only for throwaway data: a killed server still loses nothing, but a power failure may corrupt the files. */
  readonly durable: boolean;
}

/**
 * A small server for a local event log: every commit is durable, nothing is replicated, and it listens only on this
 * machine.
 */
export const postgresConfig = ({ port, durable }: PostgresConfig): string => `listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = ''
max_connections = 200
password_encryption = 'scram-sha-256'
tcp_keepalives_idle = 5
tcp_keepalives_interval = 5
tcp_keepalives_count = 3

shared_buffers = '64MB'
huge_pages = 'off'
max_parallel_workers_per_gather = 0
jit = 'off'

fsync = '${durable ? 'on' : 'off'}'
synchronous_commit = 'on'
full_page_writes = '${durable ? 'on' : 'off'}'
wal_level = 'minimal'
max_wal_senders = 0
min_wal_size = '${durable ? '80MB' : '32MB'}'
max_wal_size = '512MB'
checkpoint_timeout = '15min'

log_destination = 'stderr'
logging_collector = 'off'
log_line_prefix = '%m [%p] %q%u@%d '
log_min_messages = 'warning'
log_checkpoints = 'off'
lc_messages = 'C'
timezone = 'UTC'
log_timezone = 'UTC'
`;

/** Only connections from this machine with a password. There is no socket and no other access. */
export const POSTGRES_HBA = `host all all 127.0.0.1/32 scram-sha-256
`;

/** `postgres (PostgreSQL) 18.4` and `postgres (PostgreSQL) 15.18 (Debian …)`; undefined for anything else. */
export const parsePostgresVersion = (output: string): { version: string; major: number } | undefined => {
  const [, version, major] = /\(PostgreSQL\) ((\d+)[\w.]*)/.exec(output) ?? [];
  return version === undefined ? undefined : { version, major: Number(major) };
};
