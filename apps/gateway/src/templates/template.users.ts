import type { ClusterName, Namespace } from '@fairlead/contracts';
import { declaredAfter, type Declared } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap } from '../http/refusal.error.js';
import type { TemplateAddress } from './templates.commands.js';

type ReadDeclared = Command<'ReadDeclared', { readonly namespace: Namespace; readonly cluster: ClusterName }>;

/** Changes nothing: its outcome is what is declared, as the log has it. */
const declarations: Decider<Declared | undefined, ReadDeclared, never> = {
  initial: undefined,
  reads: 'cluster',
  decide: () => nothing,
  evolve: declaredAfter,
};

/** Which clusters have a template, by the log: rows may not show yet what was applied a moment ago. */
@Injectable()
export class TemplateUsers {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  /** Of the clusters that ever chose it, those that have it now. */
  of({ namespace, template }: TemplateAddress, { identity, requestId }: Caller) {
    return async (chosenBy: readonly string[]): Promise<readonly string[]> => {
      const users: string[] = [];
      for (const name of chosenBy) {
        const cluster = name as ClusterName;
        const read = { type: 'ReadDeclared', data: { namespace, cluster } } as const;
        const stream = { namespace, cluster, context: 'request' };
        // Without its key: a read is no part of the command, so that a repetition of that reads again.
        const { state } = unwrap(await this.handle(declarations, stream, read, causeOf({ identity, requestId })));
        if (state?.template?.name === template) users.push(cluster);
      }
      return users;
    };
  }
}
