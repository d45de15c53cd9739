import type { ClusterAt } from '../api/views.js';
import { CliFailure, type Fault } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const DEFAULT_NAMESPACE = 'default';

/** A command for a cluster: `fairlead cluster wait demo -n team-a`. */
export const commandAt = (command: string, { namespace, cluster }: ClusterAt, ...options: readonly string[]): string =>
  ['fairlead', command, cluster, ...options, ...(namespace === DEFAULT_NAMESPACE ? [] : ['-n', namespace])].join(' ');

/** How to watch the cluster again, from any terminal. */
export const comeBack = (at: ClusterAt, goal?: 'deleted'): string => {
  const again = commandAt('cluster wait', at, ...(goal === undefined ? [] : ['--for', goal]));
  return `Come back with "${commandAt('cluster describe', at, '--watch')}", or wait for the end with "${again}".`;
};

interface Stopped {
  /** The work that continues on the server: `the creation of demo`. */
  readonly what: string;
  readonly help: string;
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** Watching ended before the work. */
export const stoppedWatching = (end: 'interrupted' | 'timed-out', { what, help }: Stopped, timeoutMs = 0): CliFailure =>
  new CliFailure(end, {
    code: `cli.${end}`,
    message:
      end === 'interrupted'
        ? `${capitalized(what)} continues on the server`
        : `Not done within ${formatDuration(timeoutMs)}: ${what} continues on the server`,
    help,
  });

/** For a server that does not respond anymore: accepted requests are not lost. */
export const orContinues = (error: unknown, { what, help }: Stopped): unknown => {
  if (!(error instanceof CliFailure) || error.exit !== 'unreachable') return error;
  const { code, message, help: usual = '' } = error satisfies Fault;
  return new CliFailure('unreachable', {
    code,
    message: `${message}; ${what} continues as soon as the server runs`,
    help: [usual, help].filter(Boolean).join(' '),
    cause: error,
  });
};
