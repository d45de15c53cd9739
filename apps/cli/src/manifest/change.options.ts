import type { Command } from 'commander';
import { CONFIRM_OPTION } from '../command/confirm.js';
import { duration } from '../command/parsers.js';
import { addWaitsByDefault } from '../command/waiting.js';

/** Options of every command that changes the declaration of a cluster. */
export const addChangeOptions = (command: Command): Command =>
  addWaitsByDefault(
    command.option('--dry-run', 'show what would change, without changing anything').option(...CONFIRM_OPTION),
    'the operation is done',
  )
    .option('--timeout <duration>', 'how long to wait, e.g. 10m; the operation continues on the server', duration)
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
