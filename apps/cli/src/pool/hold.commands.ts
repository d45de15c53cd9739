import type { Command } from 'commander';
import { clusterAt } from '../command/session.js';
import { addCommand, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';

type Scope = 'node' | 'pool';

interface Request {
  readonly scope: Scope;
  readonly cluster: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly reason: string;
}

const set = async (session: Session, { scope, cluster, name, ...request }: Request): Promise<Answer> => {
  const updates = await session.api.setUpdates(clusterAt(session, cluster), { scope, name }, request);
  const words = updates.disabled ? `is held out of changes: ${updates.reason}` : 'may be changed again';
  return { data: updates, table: `The ${scope} ${name} of ${cluster} ${words}.`, names: [name] };
};

const EXAMPLES = { node: 'demo-w-2-k3x9q', pool: 'worker-1' } as const;

/** `hold` and `release` of a node or a pool. */
export const addHoldCommands = (parent: Command, scope: Scope, io: Io): void => {
  addCommand(parent, {
    usage: `hold <cluster> <${scope}>`,
    summary: `Hold a ${scope} out of every upgrade, without stalling others`,
    description: `Hold a ${scope} out of every upgrade until it is released. Others go on; what is held may fall behind.`,
    examples: [[`fairlead ${scope} hold demo ${EXAMPLES[scope]} --reason "a long test runs"`, 'Until it is released']],
  })
    .requiredOption('--reason <text>', 'why; recorded in the history')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { scope, cluster, name, disabled: true, reason }),
      ),
    );
  addCommand(parent, {
    usage: `release <cluster> <${scope}>`,
    summary: `Let a ${scope} take part in upgrades again`,
    examples: [[`fairlead ${scope} release demo ${EXAMPLES[scope]}`, 'The next upgrade brings it along']],
  })
    .option('--reason <text>', 'why; recorded in the history', '')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { scope, cluster, name, disabled: false, reason }),
      ),
    );
};
